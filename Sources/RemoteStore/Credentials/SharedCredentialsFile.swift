import HTTPSemantics

/// The keys in a shared credentials file of AWS's tools (`~/.aws/credentials`).
enum SharedCredentialsFile {
    /// The credentials of a profile, or `nil` if the file does not contain the profile, or the profile lacks a key.
    static func credentials(in text: String, profile: String) -> S3Credentials? {
        var values: [String: String] = [:]
        var isInProfile = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmed
            guard let first = line.first, first != "#", first != ";" else { continue }
            if first == "[" {
                isInProfile = line.last == "]" && line.dropFirst().dropLast().trimmed == profile
            } else if isInProfile, let mark = line.firstIndex(of: "=") {
                values[line[..<mark].trimmed.lowercased()] = String(
                    line[line.index(after: mark)...].trimmed)
            }
        }
        guard let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else { return nil }
        return S3Credentials(accessKeyID: id, secretKey: secret, sessionToken: values["aws_session_token"])
    }
}
