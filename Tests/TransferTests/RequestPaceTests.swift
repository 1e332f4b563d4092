import Testing

@testable import Transfer

@Suite("Requests a second") struct RequestPaceTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func `requests are spread evenly`() {
        var pace = RequestPace(rate: 4, at: at(0))
        #expect(pace.next == at(0))
        pace.begin(at: at(0))
        #expect(pace.next == at(250))
        pace.begin(at: at(250))
        #expect(pace.next == at(500))
    }

    @Test func `time without requests is not made up for, and a request before its time delays the next one`() {
        var pace = RequestPace(rate: 10, at: at(0))
        pace.begin(at: at(5000))
        #expect(pace.next == at(5100))
        pace.begin(at: at(5000))
        #expect(pace.next == at(5200))
    }

    @Test(arguments: [0, -1, 1e-300, 1e300, .infinity]) func `every rate gives a valid time`(rate: Double) {
        var pace = RequestPace(rate: rate, at: at(0))
        for _ in 0..<3 { pace.begin(at: at(0)) }
        #expect(pace.next >= at(0))
    }
}
