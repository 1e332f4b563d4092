import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Transfer

/// The role of an AWS instance, as reported by its metadata service. It takes three requests: for a token, the role's name, and its
/// credentials.
struct InstanceRole: Sendable {
    /// The credentials, and their expiry.
    struct Keys: Sendable, Hashable {
        var credentials: S3Credentials
        var expiration: Date
    }

    private struct Document: Decodable {
        var Code: String?
        var AccessKeyId: String
        var SecretAccessKey: String
        var Token: String
        var Expiration: String
    }

    private static let defaultEndpoint = "http://169.254.169.254"
    private static let rolePath = "/latest/meta-data/iam/security-credentials/"
    private static let documentLimit = 1 << 16
    /// The service is on the same machine, so if it does not answer soon, it does not exist.
    private static let timeout = Duration.seconds(1)

    let endpoint: String
    let transport: any HTTPTransport

    /// - Parameter environment: `AWS_EC2_METADATA_SERVICE_ENDPOINT` is the service's URL; default: AWS's URL.
    init(over transport: any HTTPTransport, environment: (String) -> String? = RemoteEnvironment.value) {
        self.transport = transport
        let endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? Self.defaultEndpoint
        self.endpoint = endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint
    }

    func keys() async throws(RemoteError) -> Keys {
        let token = try await text(.put, "/latest/api/token", [.tokenLifetime: "21600"])
        let fields: HTTPFields = [.metadataToken: token]
        let names = try await text(.get, Self.rolePath, fields)
        guard let name = names.split(whereSeparator: \.isNewline).first, Self.isRole(name) else {
            throw .unreachable("the instance has no role")
        }
        let document = try await text(.get, Self.rolePath + name, fields)
        guard let keys = Self.keys(in: document) else {
            throw .unreachable("the instance's metadata service has given no keys of the role \(name)")
        }
        return keys
    }

    static func keys(in text: String) -> Keys? {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(text.utf8)),
            document.Code ?? "Success" == "Success",
            let expiration = try? Date(document.Expiration, strategy: .iso8601)
        else { return nil }
        let credentials = S3Credentials(
            accessKeyID: document.AccessKeyId, secretKey: document.SecretAccessKey, sessionToken: document.Token)
        return Keys(credentials: credentials, expiration: expiration)
    }

    /// True if a name is valid by IAM's rules.
    private static func isRole(_ name: Substring) -> Bool {
        name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "+=,.@-_".utf8.contains(byte)
        }
    }

    private func text(
        _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields
    ) async throws(RemoteError) -> String {
        var request = TransferRequest(
            url: endpoint + path, method: method, fields: fields, body: method == .put ? [] : nil)
        request.options.forwardsErrorResponses = true
        request.options.maxRedirects = 0
        request.options.proxy = ""
        request.options.retry.maxRetries = 0
        request.options.maxSegments = 1
        request.options.connectTimeout = Self.timeout
        request.options.stallTimeout = Self.timeout
        request.options.maxTime = Self.timeout * 2
        let sink = ObjectSink(limit: Self.documentLimit)
        let head: ResponseHead
        do throws(TransferError) { head = try await transport.run(request, into: sink).head } catch {
            throw .unreachable("the instance's metadata service: \(error.message)")
        }
        guard head.status == .ok else {
            throw .unreachable("the instance's metadata service answered \(head.status.code)")
        }
        return String(decoding: sink.bytes, as: UTF8.self)
    }
}

extension HTTPField.Name {
    fileprivate static let tokenLifetime = known("X-aws-ec2-metadata-token-ttl-seconds")
    fileprivate static let metadataToken = known("X-aws-ec2-metadata-token")
}
