import ConcurrencyPrimitives
import Digests
import FoundationEssentials
import HTTPTypes
import Testing
import Transfer

@testable import RemoteStore

@Suite("Objects in an S3-compatible store")
struct S3TierTests {
    private static let bytes = Array("object".utf8)

    private func digest(_ bytes: [UInt8] = bytes) throws -> String {
        try RunningDigest.digest(.sha256, of: bytes).hexadecimal
    }

    private func tier(
        prefix: String = "", token: String? = nil,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in },
        _ script: @escaping @Sendable (TransferRequest) -> FixtureTransport.Answer
    ) throws -> (S3Tier, FixtureTransport) {
        let transport = FixtureTransport(script)
        let configuration = RemoteStoreConfiguration(
            location: try S3Location(endpoint: "http://store:8333", bucket: "bucket", prefix: prefix),
            credentials: S3Credentials(accessKeyID: "id", secretKey: "secret", sessionToken: token))
        let now = Date(timeIntervalSince1970: 1_369_353_600)
        let tier = S3Tier(
            configuration, over: transport, sizeLimit: 1000, now: { now }, instance: nil, sleep: sleep)
        return (tier, transport)
    }

    private func stored(_ bytes: [UInt8], sha256: String) throws -> FixtureTransport.Answer {
        FixtureTransport.Answer.response(.ok, [try #require(HTTPField.Name("x-amz-meta-sha256")): sha256], body: bytes)
    }

    @Test func `an object with the right digest is returned`() async throws {
        let response = try stored(Self.bytes, sha256: digest())
        let (tier, transport) = try tier(prefix: "a b", token: "t") { _ in response }
        #expect(try await tier.get("k") == Self.bytes)
        let request = try #require(transport.requests.first)
        #expect(request.url == "http://store:8333/bucket/a%20b/k")
        #expect(
            request.fields[.authorization]?.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=id/20130524/us-east-1/s3/aws4_request, SignedHeaders="
                    + "host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=") == true)
        #expect(request.options.retry.maxRetries == 0 && request.options.maxRedirects == 0)
        #expect(request.options.connectTimeout == .milliseconds(200) && request.options.stallTimeout == .seconds(1))
    }

    @Test func `a missing object is returned as nil`() async throws {
        let (tier, _) = try tier { _ in FixtureTransport.Answer.response(.notFound, body: Array("<Error/>".utf8)) }
        #expect(try await tier.get("k") == nil)
        #expect(try await tier.head("k") == nil)
        try await tier.delete("k")
    }

    @Test func `wrong bytes and a missing digest are damage`() async throws {
        let responses = [
            try stored(Self.bytes, sha256: digest([1])), FixtureTransport.Answer.response(.ok, body: Self.bytes),
        ]
        for response in responses {
            let (tier, _) = try tier { _ in response }
            let error = await #expect(throws: RemoteError.self) { try await tier.get("k") }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    @Test func `an object that is too long is not read`() async throws {
        let bytes = [UInt8](repeating: 0, count: 1001)
        let response = try stored(bytes, sha256: digest(bytes))
        let (tier, _) = try tier { _ in response }
        await #expect(throws: RemoteError.tooLong) { try await tier.get("k") }
    }

    @Test func `an error status is reported with its code`() async throws {
        let (tier, _) = try tier { _ in
            FixtureTransport.Answer.response(.forbidden, body: Array("<Error><Code>AccessDenied</Code></Error>".utf8))
        }
        await #expect(throws: RemoteError.status(403, code: "AccessDenied")) { try await tier.get("k") }
        await #expect(throws: RemoteError.status(403, code: "AccessDenied")) {
            try await tier.put(Self.bytes, at: "k", .none)
        }
        await #expect(throws: RemoteError.status(403, code: "AccessDenied")) { try await tier.delete("k") }
    }

    @Test func `an error with a long explanation is reported with its status`() async throws {
        let explanation = Array("<Error><Code>SlowDown</Code>".utf8) + [UInt8](repeating: 0x20, count: 1 << 17)
        let (tier, _) = try tier { _ in FixtureTransport.Answer.response(.serviceUnavailable, body: explanation) }
        let error = RemoteError.status(503, code: "SlowDown")
        await #expect(throws: error) { try await tier.get("k") }
        await #expect(throws: error) { try await tier.put(Self.bytes, at: "k", .none) }
        await #expect(throws: error) { try await tier.delete("k") }
        let (empty, _) = try self.tier { _ in FixtureTransport.Answer.response(.notFound, body: explanation) }
        #expect(try await empty.get("k") == nil)
    }

    @Test func `different connection failures have different errors`() async throws {
        let (dead, transport) = try tier { _ in .failure(.connect) }
        let error = await #expect(throws: RemoteError.self) { try await dead.get("k") }
        if case .unreachable = error {} else { Issue.record("\(String(describing: error))") }
        #expect(transport.requests.count == 1, "nothing is tried again")
        let (hung, _) = try tier { _ in .failure(.stalled) }
        let late = await #expect(throws: RemoteError.self) { try await hung.get("k") }
        if case .timeout = late {} else { Issue.record("\(String(describing: late))") }
    }

    @Test func `an object is uploaded with its digests, and only if absent when that is required`() async throws {
        let (tier, transport) = try tier { request in
            request.fields[.ifNoneMatch] == nil
                ? FixtureTransport.Answer.response(.ok) : FixtureTransport.Answer.response(.preconditionFailed)
        }
        #expect(try await tier.put(Self.bytes, at: "k", .none))
        #expect(try await tier.put(Self.bytes, at: "k", .ifAbsent) == false)
        let request = try #require(transport.requests.first)
        #expect(request.method == .put && request.body == Self.bytes)
        let sha256 = try digest()
        for name in ["x-amz-meta-sha256", "x-amz-content-sha256"] {
            #expect(request.fields[try #require(HTTPField.Name(name))] == sha256)
        }
        // echo -n object | openssl dgst -sha256 -binary | base64
        #expect(
            request.fields[try #require(HTTPField.Name("x-amz-checksum-sha256"))]
                == "KVjUFtCKpaRy17UJA2y36v1UKt2EUn5moUXqZMtM3HU=")
    }

    @Test(
        arguments: [
            ([.ok], true, 1), ([.preconditionFailed], false, 1), ([.conflict, .ok], true, 2),
            ([.conflict, .preconditionFailed], false, 2), ([.conflict, .conflict, .ok], true, 3),
            ([.conflict, .conflict, .conflict, .ok], nil, 3),
        ] as [([HTTPResponse.Status], Bool?, Int)])
    func `an upload that conflicts with another one is repeated until it is known whether there is an object`(
        statuses: [HTTPResponse.Status], isStored: Bool?, requests: Int
    ) async throws {
        for conflict in ["ConditionalRequestConflict", "OperationAborted"] {
            let rest = Locked(statuses[...])
            let pauses = Locked<[Duration]>([])
            let (tier, transport) = try tier(sleep: { pause in pauses.withLock { $0.append(pause) } }) { _ in
                let status = rest.withLock { $0.popFirst() } ?? .internalServerError
                let code = status == .conflict ? conflict : "PreconditionFailed"
                let error = Array("<Error><Code>\(code)</Code></Error>".utf8)
                return FixtureTransport.Answer.response(status, body: status == .ok ? [] : error)
            }
            if let isStored {
                #expect(try await tier.put(Self.bytes, at: "k", .ifAbsent) == isStored)
            } else {
                await #expect(throws: RemoteError.status(409, code: conflict)) {
                    try await tier.put(Self.bytes, at: "k", .ifAbsent)
                }
            }
            #expect(transport.requests.count == requests)
            #expect(transport.requests.allSatisfy { $0.fields[.ifNoneMatch] == "*" && $0.body == Self.bytes })
            let taken = pauses.withLock { $0 }
            #expect(taken.count == requests - 1)
            #expect(taken.allSatisfy { $0 >= .milliseconds(50) && $0 <= .milliseconds(100) })
        }
    }

    @Test func `a cancelled upload does not wait for the end of a conflict`() async throws {
        let (tier, transport) = try tier(sleep: { _ in throw CancellationError() }) { _ in
            let error = Array("<Error><Code>OperationAborted</Code></Error>".utf8)
            return FixtureTransport.Answer.response(.conflict, body: error)
        }
        await #expect(throws: RemoteError.cancelled) { try await tier.put(Self.bytes, at: "k", .ifAbsent) }
        #expect(transport.requests.count == 1)
    }

    @Test func `a conflict of another kind means that there is an object, and that of any upload is an error`()
        async throws
    {
        let (tier, transport) = try tier { request in
            let code = request.fields[.ifNoneMatch] == nil ? "ConditionalRequestConflict" : "FileAlreadyExists"
            return FixtureTransport.Answer.response(.conflict, body: Array("<Error><Code>\(code)</Code></Error>".utf8))
        }
        #expect(try await tier.put(Self.bytes, at: "k", .ifAbsent) == false)
        await #expect(throws: RemoteError.status(409, code: "ConditionalRequestConflict")) {
            try await tier.put(Self.bytes, at: "k", .none)
        }
        #expect(transport.requests.count == 2)
    }

    @Test func `a HEAD request returns the length`() async throws {
        let (tier, _) = try tier { _ in FixtureTransport.Answer.response(.ok, body: Self.bytes) }
        #expect(try await tier.head("k") == 6)
    }
}
