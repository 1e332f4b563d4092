import Digests
package import FoundationEssentials
import HTTPSemantics
import HTTPTypes
package import Transfer

/// Objects in an S3-compatible store, over an HTTP transport; each request is signed (AWS Signature Version 4).
package struct S3Tier: RemoteTier {
    let configuration: RemoteStoreConfiguration
    let transport: any HTTPTransport
    let now: @Sendable () -> Date
    /// Bytes of an object that is read at most.
    let sizeLimit: Int
    /// The source of keys, if they are the instance's.
    private let instance: InstanceCredentials?

    /// Bytes of an upload that takes no longer than a read.
    private static let smallSize = 1 << 16

    var location: S3Location { configuration.location }

    /// - Parameters:
    ///   - transport: The HTTP client.
    ///   - sizeLimit: The length in bytes of the longest object that is read.
    ///   - now: The wall clock; a store refuses requests whose date is minutes away from its own.
    package init(
        _ configuration: RemoteStoreConfiguration, over transport: any HTTPTransport, sizeLimit: Int,
        now: @escaping @Sendable () -> Date
    ) {
        self.init(configuration, over: transport, sizeLimit: sizeLimit, now: now, instance: nil)
    }

    /// - Parameter instance: The role whose keys ``S3Credentials/ofInstance`` stands for; nil: this machine's.
    init(
        _ configuration: RemoteStoreConfiguration, over transport: any HTTPTransport, sizeLimit: Int,
        now: @escaping @Sendable () -> Date, instance: InstanceRole?
    ) {
        self.instance =
            configuration.credentials == .ofInstance
            ? InstanceCredentials(instance ?? InstanceRole(over: transport), now: now) : nil
        self.configuration = configuration
        self.transport = transport
        self.sizeLimit = sizeLimit
        self.now = now
    }

    package func get(_ key: String) async throws(RemoteError) -> [UInt8]? {
        let sink = ObjectSink(limit: sizeLimit)
        let head = try await run(.get, key, into: sink)
        guard head.status != .notFound else {
            try sink.requireBucket(head)
            return nil
        }
        guard head.status == .ok else { throw sink.error(head) }
        return try verified(sink, head)
    }

    /// The bytes that a sink has received, if they are those that were stored.
    func verified(_ sink: ObjectSink, _ head: ResponseHead) throws(RemoteError) -> [UInt8] {
        guard let expected = head.fields[.metaSHA256] else { throw .damaged("the object has no digest") }
        guard try Self.digest(.sha256, sink.bytes).hexadecimal == expected else {
            throw .damaged("the object has another SHA-256 than the one that it was stored with")
        }
        return sink.bytes
    }

    package func head(_ key: String) async throws(RemoteError) -> Int64? {
        let sink = ObjectSink(limit: 0)
        let head = try await run(.head, key, into: sink)
        guard head.status != .notFound else { return nil }
        guard head.status == .ok else { throw sink.error(head) }
        guard let length = head.fields[.contentLength].flatMap({ Int64($0) }) else {
            throw .damaged("the object has no length")
        }
        return length
    }

    package func put(
        _ bytes: [UInt8], at key: String, _ condition: RemoteCondition
    ) async throws(RemoteError) -> Bool {
        let digest = try Self.digest(.sha256, bytes)
        var fields: HTTPFields = [
            .contentType: "application/octet-stream", .metaSHA256: digest.hexadecimal,
            .checksumSHA256: Data(digest).base64EncodedString(),
        ]
        if condition == .ifAbsent { fields[.ifNoneMatch] = "*" }
        let sink = ObjectSink(limit: 1 << 16)
        let head = try await run(.put, key, fields, body: bytes, hash: digest.hexadecimal, into: sink)
        if condition == .ifAbsent, head.status == .preconditionFailed || head.status == .conflict { return false }
        guard head.status.kind == .successful else { throw sink.error(head) }
        return true
    }

    package func delete(_ key: String) async throws(RemoteError) {
        let sink = ObjectSink(limit: 1 << 16)
        let head = try await run(.delete, key, into: sink)
        guard head.status.kind == .successful || head.status == .notFound else { throw sink.error(head) }
    }

    // MARK: Requests

    func run(
        _ method: HTTPRequest.Method, _ key: String, _ fields: HTTPFields = [:], body: [UInt8]? = nil,
        hash: String = SigV4Request.emptyHash, into sink: ObjectSink
    ) async throws(RemoteError) -> ResponseHead {
        let path = location.path(ofKey: location.prefix + key)
        return try await run(method, path: path, query: [], fields, body: body, hash: hash, into: sink)
    }

    func run(
        _ method: HTTPRequest.Method, path: String, query: [(name: String, value: String)], _ fields: HTTPFields,
        body: [UInt8]?, hash: String, into sink: ObjectSink
    ) async throws(RemoteError) -> ResponseHead {
        let request = try signed(
            method, path: path, query: query, fields, body: body, hash: hash, by: try await keys())
        do throws(TransferError) {
            return try await transport.run(request, into: sink).head
        } catch {
            throw RemoteError(error)
        }
    }

    /// The keys that requests are signed with now.
    func keys() async throws(RemoteError) -> S3Credentials {
        guard let instance else { return configuration.credentials }
        return try await instance.credentials()
    }

    /// A request with its signature.
    private func signed(
        _ method: HTTPRequest.Method, path: String, query: [(name: String, value: String)], _ fields: HTTPFields,
        body: [UInt8]?, hash: String, by keys: S3Credentials
    ) throws(RemoteError) -> TransferRequest {
        let scope = SigV4Scope(date: now(), region: location.region)
        var fields = fields
        fields[.amzDate] = scope.timestamp
        fields[.contentSHA256] = hash
        if let token = keys.sessionToken { fields[.securityToken] = token }
        var signed = SigV4Request(method: method, path: path, query: query, fields: fields, payloadHash: hash)
        signed.fields[.host] = location.host
        do throws(DigestUnavailable) {
            fields[.authorization] = try SigV4Signer(credentials: keys, scope: scope)
                .authorization(for: signed)
        } catch {
            throw .digestUnavailable
        }
        var request = TransferRequest(
            url: location.url(path: path, query: query), method: method, fields: fields, body: body)
        request.options.forwardsErrorResponses = true
        request.options.maxRedirects = 0
        request.options.retry.maxRetries = 0
        request.options.maxSegments = 1
        request.options.connectTimeout = configuration.connectTimeout
        request.options.stallTimeout = configuration.firstByteTimeout
        let isUpload = body?.count ?? 0 > Self.smallSize
        request.options.maxTime = isUpload ? configuration.writeTimeout : configuration.readTimeout
        request.options.caFile = configuration.caFile
        return request
    }

    static func digest(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) throws(RemoteError) -> [UInt8] {
        do throws(DigestUnavailable) { return try RunningDigest.digest(algorithm, of: bytes) } catch {
            throw .digestUnavailable
        }
    }
}

extension RemoteError {
    init(_ error: TransferError) {
        switch error.code {
        case .timeout, .stalled: self = .timeout(error.message)
        case .cancelled: self = .cancelled
        case .refusedBySink: self = .tooLong
        default: self = .unreachable(error.message)
        }
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
    static let checksumSHA256 = known("X-Amz-Checksum-Sha256")
    static let metaSHA256 = known("X-Amz-Meta-Sha256")
}
