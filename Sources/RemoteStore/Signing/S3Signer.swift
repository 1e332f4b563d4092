import Digests
package import FoundationEssentials
import HTTPSemantics
package import HTTPTypes
package import Transfer

/// Signs requests to a bucket (AWS Signature Version 4), with keys that may be those of the machine's role.
package struct S3Signer: Sendable {
    package let location: S3Location
    private let credentials: S3Credentials
    private let now: @Sendable () -> Date
    /// The source of keys, if they are the instance's.
    private let instance: InstanceCredentials?

    /// - Parameters:
    ///   - transport: Reaches the instance's metadata service, if ``S3Credentials/ofInstance`` has the keys.
    ///   - now: The wall clock; a store refuses requests whose date is minutes away from its own.
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

    /// The fields that authorise a request: date, digest of the content, token and signature.
    ///
    /// - Parameters:
    ///   - path: From its first slash, not encoded.
    ///   - fields: Further fields, which are signed as well.
    ///   - hash: SHA-256 of the content in hexadecimal digits; nil: there is none.
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

    /// The URL of a path at the location's endpoint, in the spelling that is signed.
    ///
    /// - Parameter path: From its first slash, not encoded.
    package func url(path: String) -> String { location.url(path: path, query: []) }
}

extension S3Location {
    /// The URL that the keys of objects are appended to, without a slash at its end.
    package var baseURL: String {
        url(path: path(ofKey: prefix.isEmpty ? "" : String(prefix.dropLast())), query: [])
    }
}

extension SigV4Request {
    /// SHA-256 of no bytes.
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

extension HTTPField.Name {
    static let host = known("Host")
    static let amzDate = known("X-Amz-Date")
    static let contentSHA256 = known("X-Amz-Content-Sha256")
    static let securityToken = known("X-Amz-Security-Token")
}
