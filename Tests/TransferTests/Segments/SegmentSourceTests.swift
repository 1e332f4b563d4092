import TestSupport
import Testing

@testable import Transfer

private let mebibyte: Int64 = 1 << 20

@Suite("The division of a body among connections to several hosts")
struct SegmentSourceTests {
    private func host(
        _ mebibytes: Int64, capacity: Int64 = 1 << 40, _ sites: SimulatedHost.Site...
    ) -> SimulatedHost {
        SimulatedHost(mebibytes * mebibyte, .init(capacity: capacity, perConnection: 0, sites: sites))
    }

    @Test(arguments: [2, 3, 5]) func `hosts that limit each connection get up to sixteen each, and 64 in all`(
        count: Int
    ) {
        let sites = Array(repeating: SimulatedHost.Site(perConnection: 250_000), count: count)
        var host = SimulatedHost(200 * mebibyte, .init(perConnection: 0, sites: sites))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.mostToOne == min(16, (63 + count) / count) && host.mostAtOnce == min(64, 16 * count))
        #expect(host.sent.count == count && host.aside.isEmpty)
        #expect(seconds < Double(host.total) / 250_000 / Double(min(64, 16 * count)) * 1.3 + 3)
    }

    @Test func `two hosts, each with a link that one connection fills, bring their parts at once`() {
        let site = SimulatedHost.Site(capacity: 2_000_000, perConnection: 2_000_000)
        var host = host(100, site, site)
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(seconds < Double(host.total) / 4_000_000 * 1.1 + 3)
    }

    @Test func `several hosts are as fast as one if one connection fills our own link`() {
        let site = SimulatedHost.Site(perConnection: 12_500_000)
        var host = host(100, capacity: 12_500_000, site, site, site)
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(seconds < Double(host.total) / 12_500_000 * 1.03)
    }

    @Test func `a host that is faster than the first brings most`() {
        var host = host(
            60, .init(capacity: 500_000, perConnection: 500_000), .init(capacity: 8_000_000, perConnection: 2_000_000))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.sent[1] ?? 0 > 5 * (host.sent[0] ?? 0))
        #expect(seconds < Double(host.total) / 8_500_000 * 1.3 + 4)
    }

    @Test func `a host that is much too slow does not delay the end, and is dropped`() {
        var host = host(40, .init(perConnection: 500_000), .init(perConnection: 8_000))
        let seconds = host.finish()
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(host.aside == [1])
        #expect(seconds < Double(host.total) / 500_000 / 16 * 2 + 8)
    }

    @Test func `a host that sends nothing gets one connection at a time, and is dropped`() {
        var host = host(60, .init(perConnection: 500_000), .init(perConnection: 0))
        var most = 0
        while !host.planner.isComplete, host.now.seconds < 100 {
            host.advance()
            most = max(most, host.running(from: 1).count)
        }
        #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 })
        #expect(most == 1 && host.aside == [1] && host.mostAtOnce > 10)
        #expect(host.now.seconds < Double(host.total) / 500_000 / 16 * 2 + 8)
    }

    @Test func `a different representation drops only its host, permanently`() {
        let site = SimulatedHost.Site(perConnection: 250_000)
        var host = host(80, site, site, site)
        while host.running(from: 1).count < 4 { host.advance() }
        let others = host.running.filter { !host.running(from: 1).contains($0) }
        host.end(host.running(from: 1)[1], .differs)
        #expect(host.running(from: 1).isEmpty && others.allSatisfy { host.running.contains($0) })
        while !host.planner.isComplete {
            host.advance()
            #expect(host.running(from: 1).isEmpty)
        }
        #expect(host.fetched.allSatisfy { $0 == 1 } && host.aside == [1])
        #expect(host.mostAtOnce > 16)
    }

    @Test func `a refusing host gets no more connections, and the other host gets more`() {
        let site = SimulatedHost.Site(perConnection: 250_000)
        var host = host(80, site, site)
        while host.running(from: 1).count < 3 { host.advance() }
        host.end(host.running(from: 1)[0], .refused)
        let left = host.running(from: 1).count
        var most = 0
        while !host.planner.isComplete {
            host.advance()
            #expect(host.running(from: 1).count <= left)
            most = max(most, host.running(from: 0).count)
        }
        #expect(host.fetched.allSatisfy { $0 == 1 } && most == 16)
    }

    @Test func `a host that dies in the middle leaves its part to the other`() {
        let site = SimulatedHost.Site(perConnection: 250_000)
        for dying in 0...1 {
            var host = host(80, site, site)
            while host.running(from: 1).count < 4 { host.advance() }
            for _ in 0..<100 where !host.running(from: dying).isEmpty {
                for id in host.running(from: dying) { host.end(id, .failed) }
            }
            #expect(host.aside == [dying] && !host.running.isEmpty)
            while !host.planner.isComplete, !host.running.isEmpty { host.advance() }
            #expect(host.planner.isComplete && host.fetched.allSatisfy { $0 == 1 }, "\(dying)")
        }
    }

    @Test func `no connection is started after all hosts have failed`() {
        let site = SimulatedHost.Site(perConnection: 250_000)
        var host = host(50, site, site)
        while host.running.count < 6 { host.advance() }
        for _ in 0..<100 { for id in host.running { host.end(id, .failed) } }
        #expect(host.running.isEmpty && !host.planner.isComplete)
        #expect(host.planner.rest == host.fetched.reduce(0) { $0 + ($1 == 0 ? 1024 : 0) })
    }

    @Test func `each byte is fetched once from several hosts with random failures`() {
        var generator = SeededGenerator(for: "SegmentSources")
        for _ in 0..<20 { stormyTransfer(using: &generator) }
    }

    private func stormyTransfer(using generator: inout SeededGenerator) {
        let rates: [Int64] = [0, 20_000, 250_000, 1_000_000, 8_000_000]
        let first = SimulatedHost.Site(perConnection: rates.dropFirst().randomElement(using: &generator) ?? 1)
        let sites =
            [first]
            + (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                SimulatedHost.Site(
                    capacity: Int64.random(in: 100_000...20_000_000, using: &generator),
                    perConnection: rates.randomElement(using: &generator) ?? 1)
            }
        let latency = Duration.milliseconds(Int.random(in: 1...900, using: &generator))
        var host = SimulatedHost(
            Int64.random(in: 9...40, using: &generator) * mebibyte,
            .init(perConnection: 0, latency: latency, sites: sites))
        let trouble = Int.random(in: 0...200, using: &generator)
        while !host.planner.isComplete, !host.running.isEmpty, host.now.seconds < 5_000 {
            host.advance()
            if trouble > 0, Int.random(in: 0..<20_000, using: &generator) < trouble,
                let id = host.running.randomElement(using: &generator)
            {
                let ending: [SegmentPlanner.Ending] = [.failed, .failed, .failed, .refused, .differs]
                host.end(id, ending.randomElement(using: &generator) ?? .failed)
            }
            #expect(host.running.count <= 64 && host.mostToOne <= 16)
        }
        #expect(host.fetched.allSatisfy { $0 <= 1 })
        #expect(host.planner.rest == host.fetched.reduce(0) { $0 + ($1 == 0 ? 1024 : 0) })
        #expect(Set(host.aside).count == host.aside.count)
        #expect(host.planner.isComplete || host.running.isEmpty, "\(sites)")
    }
}
