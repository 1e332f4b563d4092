import ConcurrencyPrimitives
import Testing

@testable import ImageProxyAdmin

@Suite struct RequestRankingTests {
    private final class Clock: Sendable {
        let time = Locked(Duration.zero)
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    private let clock = Clock()
    private let ranking: RequestRanking

    init() { ranking = RequestRanking { [clock] in clock.time.withLock { $0 } } }

    private func note(_ target: String, _ duration: Duration = .milliseconds(1), times: Int = 1) {
        for _ in 0..<times {
            ranking.note(.init(target: target, status: 200, outcome: "hit", bytesSent: 10, duration: duration))
        }
    }

    @Test func `the most requested come first, with their bytes, equal ones by name`() {
        note("/b", times: 2)
        note("/a", times: 2)
        note("/c", times: 5)
        let most = ranking.mostRequested(2)
        #expect(most.map(\.target) == ["/c", "/a"])
        #expect(most.map(\.count) == [.init(requests: 5, bytes: 50), .init(requests: 2, bytes: 20)])
    }

    @Test func `the slowest come first, and no more than are kept`() {
        for number in 1...100 { note("/\(number)", .milliseconds(number * 37 % 101)) }
        let slowest = ranking.slowest(.max)
        #expect(slowest.map(\.duration) == (81...100).reversed().map { .milliseconds($0) })
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a target with a large part of the requests is found among any number of others`(seed: UInt64) {
        var state = seed
        var other = 0
        for _ in 0..<60_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            if state >> 60 == 0 {
                note("/hot")
            } else {
                other += 1
                note("/cold/\(other)")
            }
        }
        let most = ranking.mostRequested(1)
        #expect(most.first?.target == "/hot")
        let asked = 60_000 - other
        let counted = most.first?.count.requests ?? 0
        #expect(counted <= asked && counted >= asked - 60_000 / RequestRanking.mostTargets)
        #expect(ranking.mostRequested(.max).count <= RequestRanking.mostTargets)
    }

    @Test func `a window and the one before are told, older ones are forgotten`() {
        note("/first", .seconds(9))
        clock.advance(RequestRanking.windowLength)
        note("/second")
        #expect(ranking.mostRequested(9).map(\.target) == ["/first", "/second"])
        #expect(ranking.slowest(9).map(\.target) == ["/first", "/second"])
        clock.advance(RequestRanking.windowLength)
        #expect(ranking.mostRequested(9).map(\.target) == ["/second"])
        clock.advance(RequestRanking.windowLength * 3)
        #expect(ranking.mostRequested(9).isEmpty && ranking.slowest(9).isEmpty)
    }

    @Test func `a long target is cut`() {
        note("/" + String(repeating: "ä", count: 5000))
        let target = ranking.mostRequested(1).first?.target ?? ""
        #expect(target.utf8.count <= RequestRanking.longestTarget + 6 && target.hasSuffix("…"))
    }
}
