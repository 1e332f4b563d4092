import Testing

@testable import HTTPServer

struct MinimumRateTests {
    @Test func `the time left allows the minimum rate and a grace period`() {
        let rate = MinimumRate(bytesPerSecond: 1000, grace: .seconds(10))
        #expect(rate.timeLeft(for: 0, after: .zero) == .seconds(10))
        #expect(rate.timeLeft(for: 5500, after: .seconds(4)) == .milliseconds(11_500))
        #expect(rate.timeLeft(for: 1000, after: .seconds(60)) == .zero)
        #expect(rate.timeLeft(for: .max, after: .zero).map { $0 > .seconds(1 << 40) } == true)
        #expect(MinimumRate(bytesPerSecond: 0).timeLeft(for: 1, after: .seconds(1000)) == nil)
    }
}
