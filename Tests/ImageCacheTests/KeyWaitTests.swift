import Testing
import Transfer

@testable import ImageCache

@Suite struct KeyWaitTests {
    private let start = ContinuousClock.now

    private func options(_ change: (inout TransferOptions) -> Void = { _ in }) -> TransferOptions {
        var options = TransferOptions()
        options.connectTimeout = .seconds(5)
        options.stallTimeout = .seconds(10)
        change(&options)
        return options
    }

    /// Returns true for each of these seconds in which the wait continues, given the progress.
    private func lasts(
        _ waiting: KeyWaiting, _ looks: [(second: Int, progress: Int64)],
        _ change: (inout TransferOptions) -> Void = { _ in }
    ) -> [Bool] {
        var patience = KeyPatience(waiting, options(change), now: start)
        return looks.map { patience.lasts(at: start + .seconds($0.second), progress: $0.progress) }
    }

    @Test func `a holder without progress is waited for as long as an own attempt may stall`() {
        #expect(lasts(.untilStalled, [(0, 100), (9, 100), (10, 100)]) == [true, true, false])
    }

    @Test func `a holder that makes progress is waited for`() {
        let looks = (0..<100).map { (second: $0 * 9, progress: Int64($0)) }
        #expect(!lasts(.untilStalled, looks).contains(false))
        #expect(lasts(.untilStalled, looks + [(99 * 9 + 10, 99)]).last == false)
    }

    @Test func `no wait is longer than the time limit of an own attempt`() {
        let lasts = lasts(.untilStalled, [(9, 1), (18, 2), (20, 3)]) { $0.maxTime = .seconds(20) }
        #expect(lasts == [true, true, false])
    }

    @Test func `an explicit limit of the wait applies whatever the holder does`() {
        #expect(lasts(.atMost(.seconds(1)), [(0, 1), (1, 2)]) == [true, false])
        #expect(lasts(.none, [(0, 1)]) == [false])
    }
}
