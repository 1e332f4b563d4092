import ConcurrencyPrimitives
import Foundation
import Testing

@testable import ImageProxyAdmin

@Suite struct RequestRankingTests {
    private final class Clock: Sendable {
        let time = Locked(Duration.zero)
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    private let clock = Clock()
    private let ranking: RequestRanking

    init() {
        ranking = RequestRanking {
            [clock] in
            clock.time.withLock { $0 }
        } date: {
            [clock] in
            Date(timeIntervalSince1970: clock.time.withLock { $0 } / .seconds(1))
        }
    }

    private func note(_ target: String, _ duration: Duration = .milliseconds(1), status: Int = 200, times: Int = 1) {
        for _ in 0..<times {
            ranking.note(.init(target: target, status: status, outcome: "hit", bytesSent: 10, duration: duration))
        }
    }

    @Test func `the most requested targets come first with their bytes, and equal ones by name`() {
        note("/b", times: 2)
        note("/a", times: 2)
        note("/c", times: 5)
        let most = ranking.mostRequested(2)
        #expect(most.map(\.target) == ["/c", "/a"])
        #expect(most.map(\.count) == [.init(requests: 5, bytes: 50), .init(requests: 2, bytes: 20)])
    }

    @Test func `the slowest requests come first, up to a limit`() {
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

    @Test func `the current and the previous window are reported, and older ones are forgotten`() {
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

    @Test func `a long target is shortened`() {
        note("/" + String(repeating: "ä", count: 5000))
        let target = ranking.mostRequested(1).first?.target ?? ""
        #expect(target.utf8.count <= RequestRanking.longestText + 6 && target.hasSuffix("…"))
    }

    @Test(arguments: [0, 3, 6, 9])
    func `a target is not shortened within a secret`(rest: Int) {
        // The limit falls at the secret's end, or before it.
        let start = "http://ann:" + "secret"
        let path = String(repeating: "a", count: RequestRanking.longestText - start.utf8.count - rest)
        note("/\(path)/http://ann:secret@origin/\(String(repeating: "b", count: 600))")
        let target = ranking.mostRequested(1).first?.target ?? ""
        #expect(target.hasSuffix("…") && !target.contains("sec"), "\(target)")
    }

    @Test func `the targets with the most errors come first, separately for each status`() {
        note("/ok", times: 9)
        note("/missing", status: 404, times: 3)
        note("/broken", status: 502, times: 5)
        note("/broken", status: 503)
        let failing = ranking.mostFailing(9)
        #expect(failing.map(\.failing.target) == ["/broken", "/missing", "/broken"])
        #expect(failing.map(\.failing.status) == [502, 404, 503])
        #expect(failing.map(\.requests) == [5, 3, 1])
    }

    @Test func `the latest errors are kept, and many 4xx do not displace 5xx`() {
        note("/broken", status: 500)
        for number in 1...100 {
            clock.advance(.seconds(1))
            note("/\(number)", status: 404)
        }
        let failures = ranking.failures(.max)
        #expect(failures.count == RequestRanking.mostFailures + 1)
        #expect(failures.first?.sample.target == "/100" && failures.last?.sample.target == "/broken")
        #expect(ranking.failures(2).map(\.sample.target) == ["/100", "/99", "/broken"])
    }
}
