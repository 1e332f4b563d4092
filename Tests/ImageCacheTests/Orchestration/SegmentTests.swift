import CacheTestSupport
import ConcurrencyPrimitives
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import Transfer

/// A body over several connections, where the time is what the stream has brought.
@Suite(.timeLimit) struct SegmentTests {
    static let size = 20 << 20
    static let old = ScriptedRepresentation(ScriptedRepresentation.bytes(size), etag: "\"1\"")
    static let new = ScriptedRepresentation(ScriptedRepresentation.bytes(size, seed: 2), etag: "\"2\"")
    static let url = "http://origin.example/a"

    /// A transfer whose stream waits after 6 MiB until the test lets it go on.
    struct Run {
        let transport: ScriptedTransport
        let sink: MemorySink
        let gate = AsyncGate()
        let task: Task<Result<TransferResult, TransferError>, Never>

        /// - Parameters:
        ///   - others: The responses to all requests but the first, counted from 2.
        init(
            sink: MemorySink = MemorySink(),
            stream: @escaping @Sendable (ScriptedResponse) -> ScriptedResponse = { $0 },
            _ change: (inout TransferRequest) -> Void = { _ in },
            others: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse,
            events: @escaping @Sendable (TransferEvent) -> Void = { _ in }
        ) {
            let gate = gate
            let transport = ScriptedTransport { request in
                guard request.number == 1 else { return others(request).inPieces }
                return stream(old.response(to: request).pausing(after: 6 << 20, for: gate)).inPieces
            }
            self.transport = transport
            self.sink = sink
            var request = TransferRequest(url: url)
            change(&request)
            task = Task { [request] in
                // 1 MiB a second.
                let segmenting = SegmentingTransport(transport) {
                    MonotonicTime(nanoseconds: sink.streamBytes * 1_000_000_000 >> 20)
                }
                do throws(TransferError) {
                    return .success(try await segmenting.run(request, into: sink, events: events))
                } catch {
                    return .failure(error)
                }
            }
        }

        /// Lets the stream go on when the others have ended, or cannot end.
        func result() async throws -> TransferResult {
            _ = await transport.requests { requests in
                requests.count > 1 && requests.dropFirst().allSatisfy { $0.ending != nil }
            }
            gate.open()
            return try await task.value.get()
        }
    }

    @Test func `the progress of a divided body only grows`() async throws {
        let seen = Locked<[Int64]>([])
        let run = Run(
            others: { Self.old.response(to: $0) },
            events: { event in
                if case .received(let bytes, _) = event { seen.withLock { $0.append(bytes) } }
            })
        _ = try await run.result()
        let bytes = seen.withLock { $0 }
        #expect(bytes == bytes.sorted() && bytes.last == Int64(Self.size))
    }

    @Test func `a divided body is not requested again after a failure if nothing is retried`() async throws {
        let run = Run(stream: { $0.cut(after: 7 << 20) }) {
            $0.options.retry.maxRetries = 0
        } others: { _ in
            .failure(.connect)
        }
        await #expect(throws: TransferError.self) { _ = try await run.result() }
        #expect(!run.transport.requests.contains { $0.fields[.range]?.hasPrefix("bytes=\(7 << 20)-") == true })
    }

    @Test func `several connections deliver one body, and each byte once`() async throws {
        let run = Run { Self.old.response(to: $0) }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.twice == 0 && run.sink.body == Self.old.content)
        #expect(run.sink.beginnings == 1 && result.outcome == .body)
        #expect(result.bytesReceived == Int64(Self.size) && result.attempts == run.transport.requests.count)
        let further = run.transport.requests.dropFirst()
        #expect(!further.isEmpty && run.sink.streamBytes < Int64(Self.size))
        #expect(further.allSatisfy { $0.fields[.range] != nil && $0.fields[.ifRange] == "\"1\"" })
        #expect(run.sink.calls > 0)
    }

    enum Fault: String, CaseIterable, Sendable {
        case whole, otherTag, noTag, weakTag, otherTotal, shifted, short, multipart, coded, redirected, gone, forbidden
        case tooMany, unavailable, broken, unreachable, cut, precondition, unsatisfiable, notModified

        func response(to request: ScriptedRequest) -> ScriptedResponse {
            var answer = SegmentTests.old.response(to: request)
            guard request.fields[.range] != nil else { return answer }
            let range = answer.fields[.contentRange] ?? ""
            switch self {
            case .whole: return ScriptedResponse(.ok, [.eTag: "\"1\""], body: SegmentTests.old.bytes)
            case .otherTag:
                answer = ScriptedRepresentation(SegmentTests.new.bytes, etag: "\"1\"").response(to: request)
                answer.fields[.eTag] = "\"2\""
            case .noTag: answer.fields[.eTag] = nil
            case .weakTag: answer.fields[.eTag] = "W/\"1\""
            case .otherTotal: answer.fields[.contentRange] = range + "0"
            case .shifted: answer.fields[.contentRange] = range.replacing("bytes ", with: "bytes 1")
            case .short: answer.fields[.contentLength] = "12"
            case .multipart: answer.fields[.contentType] = "multipart/byteranges; boundary=x"
            case .coded: answer.fields[.contentEncoding] = "gzip"
            case .redirected:
                return request.path == "/a"
                    ? .redirect(to: "http://origin.example/b")
                    : ScriptedRepresentation(SegmentTests.new.bytes, etag: "\"1\"").response(to: request)
            case .gone: return ScriptedResponse(.notFound)
            case .forbidden: return ScriptedResponse(.forbidden)
            case .tooMany: return ScriptedResponse(.tooManyRequests)
            case .unavailable: return ScriptedResponse(.serviceUnavailable)
            case .broken: return ScriptedResponse(.internalServerError)
            case .unreachable: return .failure(.connect)
            case .cut: return answer.cut(after: 300_000)
            case .precondition: return ScriptedResponse(.preconditionFailed)
            case .unsatisfiable: return ScriptedResponse(.rangeNotSatisfiable, [.contentRange: "bytes */7"])
            case .notModified: return ScriptedResponse(.notModified, [:], steps: [], length: nil)
            }
            return answer
        }
    }

    @Test(arguments: Fault.allCases)
    func `the body becomes complete whatever further connections answer`(fault: Fault) async throws {
        let run = Run { fault.response(to: $0) }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == Self.old.content)
        #expect(run.sink.twice == 0 && result.outcome == .body)
        #expect(run.transport.requests.count < 20)
    }

    @Test func `another representation is never joined with the held bytes`() async throws {
        // The first further connection brings the old one's bytes; then it changes, and the stream is cut.
        let run = Run(stream: { $0.cut(after: 8 << 20) }) { ($0.number == 2 ? Self.old : Self.new).response(to: $0) }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == Self.new.content && run.sink.beginnings == 2)
        #expect(result.restarts.count == 1 && result.head.fields[.eTag] == "\"2\"")
    }

    @Test func `a body without a strong validator uses one connection`() async throws {
        let weak = ScriptedRepresentation(Self.old.bytes, etag: "W/\"1\"")
        let run = Run(stream: { response in
            var response = response
            response.fields[.eTag] = weak.etag
            return response
        }) { weak.response(to: $0) }
        run.gate.open()
        _ = try await run.task.value.get()
        #expect(run.transport.requests.count == 1 && run.sink.body == Self.old.content)
    }

    @Test func `a segment limit of one or a rate limit allows one connection`() async throws {
        let changes: [@Sendable (inout TransferRequest) -> Void] = [
            { $0.options.maxSegments = 1 }, { $0.options.rateLimit = 1 << 40 },
        ]
        for change in changes {
            let run = Run(change) { Self.old.response(to: $0) }
            run.gate.open()
            _ = try await run.task.value.get()
            #expect(run.transport.requests.count == 1 && run.sink.body == Self.old.content)
        }
    }

    @Test func `the rest of an interrupted stream is fetched by other connections and a new stream`() async throws {
        let run = Run(stream: { $0.cut(after: 7 << 20) }) { request in
            // One connection more, for some blocks.
            request.number == 2 || request.number > 5 ? Self.old.response(to: request) : .failure(.connect)
        }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == Self.old.content && run.sink.twice == 0)
        #expect(run.sink.beginnings == 1 && result.outcome == .body)
    }

    @Test func `a sink that refuses bytes ends all connections`() async throws {
        let run = Run(sink: MemorySink(capacity: 8 << 20)) { Self.old.response(to: $0) }
        run.gate.open()
        await #expect(throws: TransferError.self) { try await run.task.value.get() }
        let calls = run.sink.calls
        _ = await run.transport.requests { $0.allSatisfy { $0.ending != nil } }
        #expect(run.sink.calls == calls)
    }

    @Test func `a cancelled transfer ends all its connections before it returns`() async throws {
        let held = AsyncGate()
        let run = Run { Self.old.response(to: $0).pausing(after: 100_000, for: held) }
        _ = await run.transport.requests { $0.count > 1 }
        run.task.cancel()
        held.open()
        run.gate.open()
        guard case .failure(let error) = await run.task.value else {
            Issue.record("it was not cancelled")
            return
        }
        #expect(error.code == .cancelled)
        #expect(run.transport.requests.allSatisfy { $0.ending != nil })
    }
}

extension ScriptedResponse {
    /// The same bytes in pieces of 64 KiB.
    fileprivate var inPieces: ScriptedResponse {
        var response = self
        response.body = body.flatMap { step -> [Step] in
            guard case .bytes(let bytes) = step else { return [step] }
            return stride(from: 0, to: bytes.count, by: 65_536).map {
                .bytes(Array(bytes[$0..<min($0 + 65_536, bytes.count)]))
            }
        }
        return response
    }
}
