import Testing

@testable import WorkerProcesses

/// The worker that a piece of work gets.
struct IdleWorkersTests {
    private final class Worker {}

    /// A line of workers, each of which has done the last work of a session; nil: of none.
    private func line(width: Int, _ sessions: [Int?]) -> (line: IdleWorkers<Worker>, workers: [Worker]) {
        var line = IdleWorkers<Worker>(width: width)
        let workers = sessions.map { _ in Worker() }
        for _ in workers { _ = line.take() }
        for (worker, session) in zip(workers, sessions) { line.release(worker, session: session) }
        return (line, workers)
    }

    @Test func `a session gets its own worker, also when others are free`() {
        var (line, workers) = line(width: 4, [nil, 7, 8, nil])
        #expect(line.take(for: 7) === workers[1])
        #expect(line.take(for: 8) === workers[2])
    }

    @Test func `other work gets a worker without a session, the one that worked last`() {
        var (line, workers) = line(width: 4, [nil, nil, 7])
        #expect(line.take() === workers[1])
        #expect(line.take(for: 9) === workers[0])
    }

    @Test func `a new worker comes before one that a session may want again`() {
        var (line, workers) = line(width: 3, [7, 8])
        #expect(line.take() == nil)
        #expect(line.count == 3)
        #expect(line.take(for: 8) === workers[1])
    }

    @Test func `the session that has paused longest loses its worker when no more may start`() {
        var (line, workers) = line(width: 2, [7, 8])
        #expect(line.take() === workers[0])
        #expect(line.take(for: 7) === workers[1])
        #expect(line.count == 2)
    }

    @Test func `the worker of an ended session is free for all after it was notified`() {
        var (line, workers) = line(width: 3, [7, 8])
        #expect(line.leave(7) === workers[0])
        #expect(line.leave(7) == nil && line.leave(9) == nil)
        // Other work does not get it meanwhile.
        #expect(line.take() == nil && line.count == 3)
        line.release(workers[0])
        #expect(line.take() === workers[0])
    }

    @Test func `a worker that has ended makes room for a new one`() {
        var (line, _) = line(width: 1, [])
        #expect(line.take() == nil && line.count == 1)
        line.lose()
        #expect(line.take() == nil && line.count == 1)
        let worker = Worker()
        line.release(worker)
        #expect(line.take() === worker && line.count == 1)
    }
}
