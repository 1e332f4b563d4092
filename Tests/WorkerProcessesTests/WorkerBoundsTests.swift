import Testing

@testable import WorkerProcesses

/// The bounds of the pieces of work that one request is.
struct WorkerBoundsTests {
    @Test func `the pieces of work of a request share its CPU time`() {
        let header = WorkerPool.Bounds(limit: 30, after: WorkerUse(), answer: 1)
        #expect(header.seconds == 31)
        let image = WorkerPool.Bounds(limit: 30, after: WorkerUse(seconds: 29, waited: 0), answer: 1)
        #expect(image.seconds == 2)
        let late = WorkerPool.Bounds(limit: 30, after: WorkerUse(seconds: 31, waited: 0), answer: 1)
        #expect(late.seconds == 1, "only what does not look at the time")
    }

    @Test func `the pieces of work of a request share its time of waiting`() {
        let first = WorkerPool.Bounds(limit: 30, after: WorkerUse(), answer: 1)
        let second = WorkerPool.Bounds(limit: 30, after: WorkerUse(seconds: 1, waited: 100), answer: 1)
        #expect(second.wait == first.wait - 100)
        let last = WorkerPool.Bounds(limit: 30, after: WorkerUse(seconds: 1, waited: 1000), answer: 1)
        #expect(last.wait == 0)
    }

    @Test(arguments: [(10 << 20, 74 << 20), (100 << 20, 400 << 20)] as [(Int64, Int64)])
    func `a worker may keep a few times the memory that it began with`(idle: Int64, most: Int64) {
        #expect(WorkerLimits.mostKept(by: idle) == most)
    }
}
