import Digests

extension ServerConfiguration {
    /// The token required for purging, from the settings or from the file that they name, or nil if purging is disabled.
    func purgeToken() throws(SettingError) -> String? {
        guard let path = adminTokenFile else {
            guard let token = adminToken else { return nil }
            guard Self.isToken(token) else {
                throw SettingError(setting: "admin-token", value: nil, problem: "is empty, or has spaces at its end")
            }
            return token
        }
        func settingError(_ problem: String) -> SettingError {
            SettingError(setting: "admin-token-file", value: path, problem: problem)
        }
        guard adminToken == nil else { throw settingError("cannot be combined with admin-token") }
        let content: String
        do throws(SecretFile.Failure) { content = try SecretFile.content(of: path, isRegular: true) } catch {
            throw settingError("cannot be used: \(error)")
        }
        let token = String(content.prefix { !$0.isNewline })
        guard Self.isToken(token) else { throw settingError("has no token in its first line") }
        return token
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.first != " " && text.last != " " }
}
