import Testing

@testable import ImageProxy
@testable import ImageProxyAdmin

@Suite("Problems that the page shows")
struct ProblemTests {
    private func severities(_ change: (inout Problem.Facts) -> Void) -> [Problem.Severity] {
        var facts = Problem.Facts()
        change(&facts)
        return Problem.all(facts).map(\.severity)
    }

    private func health(
        _ state: String = "closed", errorRatio: Double? = nil, requestsPerSecond: Double = 10
    ) -> OriginHealth.Snapshot {
        var health = OriginHealth.Snapshot(state: state, isAvailable: state == "closed")
        health.recent.errorRatio = errorRatio
        health.recent.requestsPerSecond = requestsPerSecond
        return health
    }

    @Test func `a healthy service has no problems`() {
        #expect(
            severities {
                $0.hasRemote = true
                ($0.usedBytes, $0.capacity, $0.freeSpace) = (10 << 30, 20 << 30, 10 << 30)
                $0.origins = [("photos", health()), ("other", health(errorRatio: 0.05))]
            }.isEmpty)
        for state in [Readiness.State.starting, .stopping] { #expect(severities { $0.state = state }.isEmpty) }
    }

    @Test func `a store that cannot be written and images that cannot be decoded are errors`() {
        #expect(severities { $0.state = .unwritable } == [.error])
        #expect(
            severities {
                $0.state = .undecodable
                $0.hasWorkers = false
            } == [.error])
    }

    @Test func `a disk that is full is an error, one that cannot hold the capacity a warning`() {
        let cases: [(used: Int64, capacity: Int64, free: Int64, severities: [Problem.Severity])] = [
            (0, 10 << 30, 10 << 30, []), (0, 10 << 30, 9 << 30, [.warning]), (2 << 30, 10 << 30, 9 << 30, []),
            (10 << 30, 10 << 30, 300 << 20, []), (10 << 30, 10 << 30, 200 << 20, [.error]),
            (0, 10 << 30, 200 << 20, [.error]),
        ]
        for (used, capacity, free, expected) in cases {
            let found = severities { ($0.usedBytes, $0.capacity, $0.freeSpace) = (used, capacity, free) }
            #expect(found == expected, "\(used) of \(capacity), \(free) free")
        }
    }

    @Test func `an open circuit of an origin is an error, and many errors of an origin are a warning`() {
        #expect(severities { $0.origins = [("a", health("open"))] } == [.error])
        #expect(severities { $0.origins = [("a", health(errorRatio: 0.2))] } == [.warning])
        #expect(severities { $0.origins = [("a", health(errorRatio: 1, requestsPerSecond: 0.1))] }.isEmpty)
    }

    @Test func `an unavailable shared store and decoders without isolation are warnings, listed after errors`() {
        #expect(severities { $0.hasRemote = false } == [.warning])
        for hasWorkers in [nil, false] { #expect(severities { $0.hasWorkers = hasWorkers } == [.warning]) }
        #expect(
            severities {
                ($0.hasRemote, $0.hasWorkers) = (false, nil)
                $0.origins = [("a", health("half-open"))]
            } == [.error, .warning, .warning])
    }

    @Test func `each problem names its origin or its figures`() {
        var facts = Problem.Facts()
        facts.origins = [("photos", health("open"))]
        facts.freeSpace = 1 << 20
        let texts = Problem.all(facts).map(\.text)
        #expect(texts.contains { $0.contains("1.00 MiB") || $0.contains("1 MiB") })
        #expect(texts.contains { $0.contains("photos") })
    }
}
