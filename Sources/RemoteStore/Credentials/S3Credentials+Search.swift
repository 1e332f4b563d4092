public import FoundationEssentials
import Glibc

extension S3Credentials {
    /// Finds credentials where AWS's tools look for them, in this order: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, with an optional
    /// `AWS_SESSION_TOKEN`; the profile `AWS_PROFILE` (default `default`) of the file `AWS_SHARED_CREDENTIALS_FILE` (default
    /// `~/.aws/credentials`); the role of the machine (``ofInstance``), if `AWS_EC2_METADATA_SERVICE_ENDPOINT` is set.
    ///
    /// - Throws: ``RemoteConfigurationError`` when there are none.
    public static func found() throws(RemoteConfigurationError) -> S3Credentials {
        try found(environment: RemoteEnvironment.value, file: RemoteEnvironment.file)
    }

    /// Finds the credentials of a given profile or file, instead of the ones that the environment selects.
    ///
    /// - Parameters:
    ///   - profile: The profile, or nil to choose as ``found()`` does.
    ///   - file: The file, or nil to choose as ``found()`` does.
    package static func found(profile: String?, file: String?) throws(RemoteConfigurationError) -> S3Credentials {
        guard profile != nil || file != nil else { return try found() }
        return try found(
            environment: { name in
                switch name {
                case "AWS_ACCESS_KEY_ID": nil
                case "AWS_PROFILE": profile ?? RemoteEnvironment.value(name)
                case "AWS_SHARED_CREDENTIALS_FILE": file ?? RemoteEnvironment.value(name)
                default: RemoteEnvironment.value(name)
                }
            }, file: RemoteEnvironment.file)
    }

    static func found(
        environment: (String) -> String?, file: (String) -> String?
    ) throws(RemoteConfigurationError) -> S3Credentials {
        if let id = environment("AWS_ACCESS_KEY_ID") {
            guard let secret = environment("AWS_SECRET_ACCESS_KEY") else {
                throw RemoteConfigurationError("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not")
            }
            return S3Credentials(accessKeyID: id, secretKey: secret, sessionToken: environment("AWS_SESSION_TOKEN"))
        }
        let profile = environment("AWS_PROFILE") ?? "default"
        let path =
            environment("AWS_SHARED_CREDENTIALS_FILE") ?? environment("HOME").map { $0 + "/.aws/credentials" }
        let text = path.flatMap(file)
        if text == nil, environment("AWS_EC2_METADATA_SERVICE_ENDPOINT") != nil { return .ofInstance }
        guard let path, let text else {
            throw RemoteConfigurationError(
                "there are no credentials: AWS_ACCESS_KEY_ID is not set, and \(path ?? "~/.aws/credentials") cannot be read"
            )
        }
        guard let credentials = SharedCredentialsFile.credentials(in: text, profile: profile) else {
            throw RemoteConfigurationError("\(path) has no keys for the profile \(profile)")
        }
        return credentials
    }
}

/// An error in the settings of a remote store.
public struct RemoteConfigurationError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The error in one sentence.
    public let description: String

    /// The same as ``description``.
    public var errorDescription: String? { description }

    init(_ description: String) { self.description = description }
}

/// The process's environment and files.
enum RemoteEnvironment {
    /// The value of a variable, or nil if it is unset or empty.
    static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A small text file's content.
    static func file(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(validating: bytes[..<count], as: UTF8.self)
    }
}
