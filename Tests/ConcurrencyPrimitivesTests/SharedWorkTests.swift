import ConcurrencyPrimitives
import Testing

@Suite struct SharedWorkTests {
    @Test func `work never runs twice at a time, and each caller has a result of a run that it waited for`() async {
        let work = SharedWork<Int>()
        let counts = Locked((running: 0, most: 0, runs: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let before = counts.withLock { $0.runs }
                    let result = work.result {
                        counts.withLock { counts in
                            counts.running += 1
                            counts.most = max(counts.most, counts.running)
                        }
                        return counts.withLock { counts in
                            counts.running -= 1
                            counts.runs += 1
                            return counts.runs
                        }
                    }
                    #expect(result >= before)
                }
            }
        }
        #expect(counts.withLock { $0.most == 1 && $0.running == 0 && $0.runs >= 1 })
    }

    @Test func `work that is requested after a run has ended runs again`() {
        let work = SharedWork<Int>()
        #expect(work.result { 1 } == 1)
        #expect(work.result { 2 } == 2)
    }
}
