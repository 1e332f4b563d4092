import CacheTestSupport
import ConcurrencyPrimitives
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import Transfer

/// A body that another host has too, where the time is what the stream has brought.
@Suite(.timeLimit) struct FurtherSourceTests {
    private typealias Run = SegmentTests.Run
    private static let mirror = "http://mirror.example/a"
    private static let there = ScriptedRepresentation(SegmentTests.old.bytes, etag: "\"there\"")

    private let events = Locked<[FurtherSources.Event]>([])

    private func run(
        stream: @escaping @Sendable (ScriptedResponse) -> ScriptedResponse = { $0 },
        own: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse = { SegmentTests.old.response(to: $0) },
        mirror: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse
    ) -> Run {
        Run(stream: stream) { [events] request in
            request.furtherSources = FurtherSources([TransferRequest(url: Self.mirror)]) { index, event in
                if index == 0 { events.withLock { $0.append(event) } }
            }
        } others: {
            $0.url == Self.mirror ? mirror($0) : own($0)
        }
    }

    private func requests(_ run: Run) -> [ScriptedRequest] { run.transport.requests.filter { $0.url == Self.mirror } }

    private var aside: [String] {
        events.withLock { $0.compactMap { if case .putAside(let reason, _) = $0 { reason } else { nil } } }
    }

    /// The bytes that the mirror has brought.
    private var brought: Int64 {
        events.withLock { $0.reduce(0) { if case .ended(let bytes, _, _) = $1 { $0 + bytes } else { $0 } } }
    }

    @Test func `another host is asked once for its validator, and its part is requested with it`() async throws {
        let run = run { Self.there.response(to: $0) }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.twice == 0 && run.sink.body == SegmentTests.old.content)
        #expect(run.sink.beginnings == 1 && result.bytesReceived == Int64(SegmentTests.size))
        let requests = requests(run)
        #expect(requests.first?.method == .head && requests.count { $0.method == .head } == 1)
        let further = requests.dropFirst()
        #expect(!further.isEmpty)
        #expect(further.allSatisfy { $0.fields[.range] != nil && $0.fields[.ifRange] == "\"there\"" })
        #expect(brought > 0 && aside.isEmpty)
        let own = run.transport.requests.filter { $0.url != Self.mirror }.dropFirst()
        #expect(own.allSatisfy { $0.fields[.ifRange] == "\"1\"" })
    }

    @Test(arguments: SegmentTests.Fault.allCases)
    func `the body becomes complete whatever another host answers`(fault: SegmentTests.Fault) async throws {
        let run = run { request in
            // The tag that it gives in response to HEAD.
            request.method == .head ? SegmentTests.old.response(to: request) : fault.response(to: request)
        }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == SegmentTests.old.content && run.sink.twice == 0)
        #expect(result.outcome == .body && run.sink.beginnings == 1)
        #expect(requests(run).count < 10 && run.transport.requests.count < 40)
    }

    enum Difference: CaseIterable { case length, noLength, weakTag, noTag, gone, busy, unreachable, coded }

    @Test(arguments: Difference.allCases)
    func `a host that may have another body, or cannot resume one, is not asked again`(
        difference: Difference
    ) async throws {
        let run = run { request in
            var response = Self.there.response(to: request)
            switch difference {
            case .length: response.fields[.contentLength] = "\(SegmentTests.size + 1)"
            case .noLength: response.fields[.contentLength] = nil
            case .weakTag: response.fields[.eTag] = "W/\"there\""
            case .noTag: response.fields[.eTag] = nil
            case .gone: return ScriptedResponse(.notFound)
            case .busy: return ScriptedResponse(.serviceUnavailable)
            case .unreachable: return .failure(.connect)
            case .coded: response.fields[.contentEncoding] = "gzip"
            }
            return response
        }
        _ = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == SegmentTests.old.content && run.sink.twice == 0)
        #expect(requests(run).map(\.method) == [.head] && aside.count == 1 && brought == 0)
        // The others go on.
        #expect(run.transport.requests.count > 3)
    }

    @Test func `a host whose tag changes during the transfer is dropped permanently`() async throws {
        let answered = Locked(0)
        let run = run { request in
            var response = Self.there.response(to: request)
            guard request.method == .get else { return response }
            let isFirst = answered.withLock { count in
                count += 1
                return count == 1
            }
            if !isFirst { response.fields[.eTag] = "\"new\"" }
            return response
        }
        _ = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == SegmentTests.old.content && run.sink.twice == 0)
        // Those that were under way at the first difference are the last ones.
        #expect(requests(run).count < 20, "\(aside), \(requests(run).map(\.number))")
    }

    @Test func `another host delivers the rest that the first one cannot`() async throws {
        let run = run(stream: { $0.cut(after: 7 << 20) }, own: { _ in .failure(.connect) }) {
            Self.there.response(to: $0)
        }
        let result = try await run.result()
        #expect(run.sink.isWhole && run.sink.body == SegmentTests.old.content && run.sink.twice == 0)
        #expect(result.outcome == .body && brought >= Int64(SegmentTests.size) - 7 << 20)
    }
}
