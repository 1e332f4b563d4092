import Testing

@testable import WorkerProcesses

/// Distinguishes a stopped process from a working one.
struct StandstillWatchTests {
    /// The answers to looks at a process: each a time after the start, and the CPU seconds that the process has used by then.
    private func answers(_ looks: [(time: Duration, seconds: Double)]) -> [Bool] {
        let start = ContinuousClock.now
        var watch = StandstillWatch(0, at: start)
        return looks.map { watch.isOver($0.seconds, at: start + $0.time) }
    }

    private let patience = StandstillWatch.patience

    @Test func `a process without CPU time is given up after the patience, and not before`() {
        #expect(answers([(patience - .milliseconds(1), 0), (patience, 0)]) == [false, true])
    }

    @Test func `a process that gets a little CPU time now and then is waited for however long it takes`() {
        let looks = (1...1000).map { (patience * (Double($0) * 0.9), Double($0) / 1000) }
        #expect(!answers(looks).contains(true))
    }

    @Test func `the patience begins again with each bit of CPU time`() {
        let late = patience - .seconds(1)
        #expect(answers([(late, 0.001), (late * 2, 0.001), (late + patience, 0.001)]) == [false, false, true])
    }
}
