import Digests
package import FoundationEssentials
import HTTPSemantics
package import HTTPTypes
package import Transfer

/// Signs requests to a bucket (AWS Signature Version 4). The credentials may come from the machine's role.
package struct S3Signer: Sendable {
    package let location: S3Location
    private let credentials: S3Credentials
    private let now: @Sendable () -> Date
    /// The source of credentials, if they are the instance's.
    private let instance: InstanceCredentials?

    /// - Parameters:
    ///   - transport: Reaches the instance's metadata service, if the credentials are ``S3Credentials/ofInstance``.
    ///   - now: The wall clock. A store rejects requests whose date differs from its own by minutes.
    package init(
        _ location: S3Location, _ credentials: S3Credentials, over transport: any HTTPTransport,
        now: @escaping @Sendable () -> Date
    ) {
        self.init(location, credentials, over: transport, now: now, instance: nil)
    }

    init(
        _ location: S3Location, _ credentials: S3Credentials, over transport: any HTTPTransport,
        now: @escaping @Sendable () -> Date, instance: InstanceRole?
    ) {
        self.location = location
        self.credentials = credentials
        self.now = now
        self.instance =
            credentials == .ofInstance
            ? InstanceCredentials(instance ?? InstanceRole(over: transport), now: now) : nil
    }

    /// The fields that authorize a request: date, digest of the content, token and signature.
    ///
    /// - Parameters:
    ///   - path: The unencoded path, with its leading slash.
    ///   - fields: Further fields to sign.
    ///   - hash: SHA-256 of the content in hexadecimal digits, or nil if there is no content.
    package func fields(
        _ method: HTTPRequest.Method, path: String, query: [(name: String, value: String)] = [],
        _ fields: HTTPFields = [:], hash: String? = nil
    ) async throws(RemoteError) -> HTTPFields {
        let keys = try await instance?.credentials() ?? credentials
        let scope = SigV4Scope(date: now(), region: location.region)
        let hash = hash ?? SigV4Request.emptyHash
        var own: HTTPFields = [.amzDate: scope.timestamp, .contentSHA256: hash]
        if let token = keys.sessionToken { own[.securityToken] = token }
        var signed = SigV4Request(method: method, path: path, query: query, fields: fields, payloadHash: hash)
        for field in own { signed.fields[field.name] = field.value }
        signed.fields[.host] = location.host
        do throws(DigestUnavailable) {
            own[.authorization] = try SigV4Signer(credentials: keys, scope: scope).authorization(for: signed)
        } catch {
            throw .digestUnavailable
        }
        return own
    }

    /// The URL of a path at the location's endpoint, in the encoding that is signed.
    ///
    /// - Parameter path: The unencoded path, with its leading slash.
    package func url(path: String) -> String { location.url(path: path, query: []) }
}

extension S3Location {
    /// The URL that object keys are appended to, without a trailing slash.
    package var baseURL: String {
        url(path: path(ofKey: prefix.isEmpty ? "" : String(prefix.dropLast())), query: [])
    }
}

extension SigV4Request {
    /// SHA-256 of the empty string.
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

extension HTTPField.Name {
    static let amzDate = known("X-Amz-Date")
    static let contentSHA256 = known("X-Amz-Content-Sha256")
    static let securityToken = known("X-Amz-Security-Token")
}
