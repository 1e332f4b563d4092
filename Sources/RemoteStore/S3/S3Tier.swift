import Digests
package import FoundationEssentials
import HTTPSemantics
import HTTPTypes
package import Transfer

/// Objects in an S3-compatible store, over an HTTP transport. Each request is signed (AWS Signature Version 4).
package struct S3Tier: RemoteTier {
    let configuration: RemoteStoreConfiguration
    private(set) var transport: any HTTPTransport
    /// Called when the head of a response with content arrives.
    private var headArrived: (@Sendable () -> Void)?
    let now: @Sendable () -> Date
    /// The largest object that is read, in bytes.
    let sizeLimit: Int
    private let signer: S3Signer
    private let sleep: @Sendable (Duration) async throws -> Void

    /// The largest upload in bytes that has the time limit of a read.
    private static let smallSize = 1 << 16
    /// The number of conflicts with other conditional uploads after which one fails.
    private static let maxConflicts = 3
    /// The codes of 409 by which a store says that another request was changing the object.
    private static let conflictCodes = ["ConditionalRequestConflict", "OperationAborted"]

    var location: S3Location { configuration.location }

    /// - Parameters:
    ///   - transport: The HTTP client.
    ///   - sizeLimit: The largest object that is read, in bytes.
    ///   - now: The wall clock. A store rejects requests whose date differs from its own by minutes.
    package init(
        _ configuration: RemoteStoreConfiguration, over transport: any HTTPTransport, sizeLimit: Int,
        now: @escaping @Sendable () -> Date
    ) {
        self.init(configuration, over: transport, sizeLimit: sizeLimit, now: now, instance: nil)
    }

    /// - Parameters:
    ///   - instance: The role whose credentials ``S3Credentials/ofInstance`` selects, or nil for this machine's.
    ///   - sleep: Waits between uploads that conflict with others; throws if its task is cancelled.
    init(
        _ configuration: RemoteStoreConfiguration, over transport: any HTTPTransport, sizeLimit: Int,
        now: @escaping @Sendable () -> Date, instance: InstanceRole?,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        signer = S3Signer(
            configuration.location, configuration.credentials, over: transport, now: now, instance: instance)
        self.configuration = configuration
        self.transport = transport
        self.sizeLimit = sizeLimit
        self.now = now
        self.sleep = sleep
    }

    /// The same store over another transport.
    package func over(_ transport: any HTTPTransport) -> S3Tier {
        var tier = self
        tier.transport = transport
        return tier
    }

    /// The same store, which also reports when the head of a response with content arrives.
    package func reporting(_ headArrived: @escaping @Sendable () -> Void) -> S3Tier {
        var tier = self
        tier.headArrived = headArrived
        return tier
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

    /// Returns the received bytes if they match the stored digest.
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
        guard let length = ContentLength.value(of: head.fields) else {
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
        var attempt = 1
        while true {
            let sink = ObjectSink(limit: 1 << 16)
            let head = try await run(.put, key, fields, body: bytes, hash: digest.hexadecimal, into: sink)
            guard head.status.kind != .successful else { return true }
            let error = sink.error(head)
            guard condition == .ifAbsent, head.status == .preconditionFailed || head.status == .conflict else {
                throw error
            }
            // Another request was changing the object: whether there will be one is unknown.
            guard case .status(409, let code?) = error, Self.conflictCodes.contains(code) else { return false }
            guard attempt < Self.maxConflicts else { throw error }
            attempt += 1
            do { try await sleep(.milliseconds(Int.random(in: 50...100))) } catch { throw .cancelled }
        }
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
        let request = try await signed(method, path: path, query: query, fields, body: body, hash: hash)
        sink.headArrived = headArrived
        do throws(TransferError) {
            return try await transport.run(request, into: sink).head
        } catch {
            // Only the explanation of the error was too long.
            if error.code == .refusedBySink, let head = sink.errorHead { return head }
            throw RemoteError(error)
        }
    }

    /// A request with its signature.
    private func signed(
        _ method: HTTPRequest.Method, path: String, query: [(name: String, value: String)], _ fields: HTTPFields,
        body: [UInt8]?, hash: String
    ) async throws(RemoteError) -> TransferRequest {
        var fields = fields
        let signature = try await signer.fields(method, path: path, query: query, fields, hash: hash)
        for field in signature { fields[field.name] = field.value }
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

extension HTTPField.Name {
    static let checksumSHA256 = known("X-Amz-Checksum-Sha256")
    static let metaSHA256 = known("X-Amz-Meta-Sha256")
}
