import Testing

@testable import Transfer

@Suite struct RateLimiterTests {
    /// The number of bytes taken in this time if a piece is taken as soon as allowed.
    private func bytes(rate: Int64, piece: Int, seconds: Int64, pause: Range<Int64> = 0..<0) -> Int64 {
        let end = seconds * 1_000_000_000
        var now = MonotonicTime(nanoseconds: 0)
        var limiter = RateLimiter(rate: rate, now: now)
        var sum: Int64 = 0
        while now.nanoseconds < end {
            let second = now.nanoseconds / 1_000_000_000
            if pause.contains(second) {
                now = MonotonicTime(nanoseconds: pause.upperBound * 1_000_000_000)
            } else if limiter.isOpen(at: now) {
                limiter.take(piece, now: now)
                sum += Int64(piece)
            } else {
                now = limiter.next
            }
        }
        return sum
    }

    @Test(arguments: [(100_000 as Int64, 12_500), (1_000_000, 16_384), (50_000_000, 16_384), (2000, 1024)])
    func `a rate is kept within a tenth, whatever the size of the pieces`(rate: Int64, piece: Int) {
        let sum = bytes(rate: rate, piece: piece, seconds: 5)
        #expect((rate * 45 / 10...rate * 55 / 10).contains(sum), "\(sum)")
    }

    @Test func `time that a pause left unused is not made up for`() {
        let sum = bytes(rate: 100_000, piece: 10_000, seconds: 10, pause: 2..<8)
        #expect((360_000...440_000).contains(sum), "\(sum)")
    }

    @Test(arguments: [0, -5, 1] as [Int64])
    func `even the lowest rate limits the transfer`(rate: Int64) {
        var limiter = RateLimiter(rate: rate, now: MonotonicTime(nanoseconds: 0))
        limiter.take(.max, now: MonotonicTime(nanoseconds: 0))
        #expect(!limiter.isOpen(at: MonotonicTime(nanoseconds: 1_000_000_000)))
    }
}
