import TestSupport
import Testing

@testable import Transfer

private let mebibyte: Int64 = 1 << 20

@Suite("The division of a body among connections")
struct SegmentPlannerTests {
    @Test(arguments: [10, 100].map { $0 * mebibyte }) func `connections that are limited each are used up to sixteen`(
        total: Int64
    ) {
        var host = SimulatedHost(total, .init(perConnection: 250_000))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.mostAtOnce == 16)
        // A twelfth of the time of one connection, and some seconds until sixteen run.
        #expect(seconds < Double(total) / 250_000 / 12 + 3)
    }

    @Test(arguments: [10, 100].map { $0 * mebibyte }, [20, 200, 400])
    func `a limit that allows a second's worth in a burst is detected`(total: Int64, latency: Int) {
        var host = SimulatedHost(
            total, .init(perConnection: 250_000, latency: .milliseconds(latency), isInBursts: true))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.mostAtOnce == 16)
        #expect(seconds < Double(total) / 250_000 / 12 + 5)
    }

    @Test func `a link that one connection fills gets one, and trials that cost nothing`() {
        var host = SimulatedHost(100 * mebibyte, .init(capacity: 12_500_000, perConnection: 12_500_000))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.mostAtOnce == 4)
        #expect(seconds < Double(host.total) / 12_500_000 * 1.03)
    }

    @Test func `a body that arrives within two seconds gets no further connection`() {
        var host = SimulatedHost(200 * mebibyte, .init(capacity: 120_000_000, perConnection: 120_000_000))
        _ = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.started.isEmpty)
    }

    @Test func `a link that several connections fill gets only so many`() {
        var host = SimulatedHost(100 * mebibyte, .init(capacity: 2_000_000, perConnection: 500_000))
        _ = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.planner.trial.settled < 16)
    }

    @Test func `no trial begins below 8 MiB of remaining bytes`() {
        var small = SimulatedHost(8 * mebibyte - 1024, .init(perConnection: 250_000))
        _ = small.finish()
        #expect(small.mostAtOnce == 1 && small.started.isEmpty)
        var large = SimulatedHost(9 * mebibyte, .init(perConnection: 250_000))
        _ = large.finish()
        #expect(large.mostAtOnce > 1 && large.restAtGrowth.allSatisfy { $0 >= 4 * mebibyte })
        #expect(large.restAtGrowth[0] >= 8 * mebibyte)
        #expect(large.fetched.allSatisfy { $0 == 1 })
    }

    @Test func `every segment boundary is a multiple of the unit`() {
        var host = SimulatedHost(30 * mebibyte, .init(perConnection: 250_000))
        _ = host.finish()
        #expect(host.started.count > 16)
        #expect(host.started.allSatisfy { $0.lowerBound % (256 << 10) == 0 })
        #expect(host.started.allSatisfy { $0.upperBound % (256 << 10) == 0 || $0.upperBound == host.total })
    }

    @Test func `a slow connection does not delay the end`() {
        var host = SimulatedHost(20 * mebibyte, .init(perConnection: 500_000, slow: [1: 20_000, 3: 20_000]))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        // One block of the slow ones takes 13 s.
        #expect(seconds < 16)
    }

    @Test func `the number of connections does not grow again after a refusal`() {
        var host = SimulatedHost(50 * mebibyte, .init(perConnection: 250_000))
        while host.running.count < 4 { host.advance() }
        host.end(host.running[1], .refused)
        while !host.planner.isComplete {
            host.advance()
            #expect(host.running.count <= 3)
        }
        #expect(host.fetched.allSatisfy { $0 == 1 })
    }

    @Test func `a different representation leaves only the stream`() {
        var host = SimulatedHost(50 * mebibyte, .init(perConnection: 250_000))
        while host.running.count < 8 { host.advance() }
        host.end(host.running[5], .differs)
        #expect(host.running == [SegmentPlanner.stream])
        while !host.planner.isComplete {
            host.advance()
            #expect(host.running.count <= 1)
        }
        #expect(host.fetched.allSatisfy { $0 == 1 })
    }

    @Test func `the segment of a connection that fails before its first byte returns to its former owner`() {
        var host = SimulatedHost(50 * mebibyte, .init(perConnection: 250_000))
        while host.running.count < 2 { host.advance() }
        host.end(host.running[1], .differs)
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        // The stream went through to the end: no other request.
        #expect(host.started.count == 3 && seconds < Double(host.total) / 250_000 * 1.2)
    }

    @Test(arguments: [20, 100, 200], [250_000, 1_000_000, 2_000_000])
    func `the stream delivers the body to its end if no range arrives completely`(latency: Int, rate: Int64) {
        for first in [rate / 8, rate / 2, rate, rate * 2] {
            for second in [rate / 8, rate, rate * 3] {
                let link = SimulatedHost.Link(
                    perConnection: rate, latency: .milliseconds(latency), cutsRanges: true,
                    slow: [1: first, 2: second])
                for size in [10, 14] {
                    var host = SimulatedHost(Int64(size) * mebibyte, link)
                    while !host.planner.isComplete, host.running.contains(SegmentPlanner.stream) { host.advance() }
                    #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 }, "\(link), \(size) MiB")
                }
            }
        }
    }

    @Test func `no connection is started after the last one has failed`() {
        var host = SimulatedHost(50 * mebibyte, .init(perConnection: 250_000))
        while host.running.count < 8 { host.advance() }
        let count = host.started.count
        for id in host.running { host.end(id, .failed) }
        #expect(host.running.isEmpty && !host.planner.isComplete)
        #expect(host.started.count <= count + 8)
        #expect(host.planner.rest == host.fetched.reduce(0) { $0 + ($1 == 0 ? 1024 : 0) })
    }

    @Test func `no byte is fetched beyond the limit`() {
        var host = SimulatedHost(40 * mebibyte, .init(perConnection: 250_000))
        host.limit = { $0.prefix + 16 << 20 }
        var farthest: Int64 = 0
        while !host.planner.isComplete {
            host.advance()
            let end = Int64(host.fetched.lastIndex(of: 1) ?? 0) << 10
            farthest = max(farthest, end - host.prefix)
        }
        #expect(host.fetched.allSatisfy { $0 == 1 } && host.mostAtOnce == 16)
        #expect(farthest <= 16 * mebibyte + (256 << 10))
    }

    @Test func `only the holes of an earlier run are fetched`() {
        let holes = [mebibyte..<5 * mebibyte, 7 * mebibyte + 4096..<13 * mebibyte, 29 * mebibyte..<30 * mebibyte]
        var host = SimulatedHost(30 * mebibyte, .init(perConnection: 250_000), missing: holes)
        while !host.planner.isComplete, host.running != [] { host.advance() }
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
    }

    @Test func `each byte is fetched once and the body becomes complete after random failures`() {
        var generator = SeededGenerator(for: "SegmentPlanner")
        for _ in 0..<20 { stormyTransfer(using: &generator) }
    }

    private func stormyTransfer(using generator: inout SeededGenerator) {
        let total = Int64.random(in: 9...40, using: &generator) * mebibyte
        let rates: [Int64] = [60_000, 250_000, 1_000_000, 8_000_000]
        var link = SimulatedHost.Link(perConnection: rates.randomElement(using: &generator) ?? 0)
        link.capacity = link.perConnection * Int64.random(in: 1...20, using: &generator)
        link.latency = .milliseconds(Int.random(in: 1...900, using: &generator))
        for _ in 0..<3 {
            link.slow[Int.random(in: 1...12, using: &generator)] = Int64.random(in: 2_000...100_000, using: &generator)
        }
        var host = SimulatedHost(total, link)
        if Bool.random(using: &generator) { host.limit = { $0.prefix + 16 << 20 } }
        let trouble = Int.random(in: 0...200, using: &generator)
        var hasDiffered = false
        while !host.planner.isComplete, !host.running.isEmpty, host.now.seconds < 5_000 {
            host.advance()
            if trouble > 0, Int.random(in: 0..<20_000, using: &generator) < trouble,
                let id = host.running.randomElement(using: &generator)
            {
                let ending: [SegmentPlanner.Ending] = [.failed, .failed, .failed, .refused, .differs]
                let chosen = ending.randomElement(using: &generator) ?? .failed
                hasDiffered = hasDiffered || chosen == .differs
                host.end(id, chosen)
                if chosen == .differs { #expect(host.running.count <= 1) }
            }
            #expect(host.running.count <= (hasDiffered ? 1 : 16))
        }
        #expect(host.fetched.allSatisfy { $0 <= 1 })
        #expect(host.planner.rest == host.fetched.reduce(0) { $0 + ($1 == 0 ? 1024 : 0) })
        // A connection that was wanted while more was missing may begin late: behind a limit, or where others have ended.
        if host.limit == nil, trouble == 0 {
            #expect(
                host.restAtGrowth.allSatisfy { $0 >= 4 * mebibyte } && host.restAtGrowth.first ?? .max >= 8 * mebibyte)
        }
        // Only when the last connection was lost is something left, for another stream.
        #expect(host.planner.isComplete == host.fetched.allSatisfy { $0 == 1 })
        #expect(host.planner.isComplete || host.running.isEmpty)
    }
}
