import ConcurrencyPrimitives
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit) struct AdmissionTests {
    private func limits(
        _ running: Int, perClient: Int = 100, waiting: Int = 100, waitingPerClient: Int = 100
    ) -> Admission.Limits {
        Admission.Limits(
            running: .init(total: running, perClient: perClient),
            waiting: .init(total: waiting, perClient: waitingPerClient), retryAfter: 1)
    }

    /// Starts a task that enters, and waits until it has been let in or waits in the queue.
    private func enters(_ admission: Admission, _ client: String) async -> Task<Bool, Never> {
        let before = admission.counts
        let task = Task {
            do throws(Admission.Rejection) {
                try await admission.enter(client)
                return true
            } catch {
                return false
            }
        }
        await eventually { admission.counts != before }
        return task
    }

    @Test func `waiting requests are admitted in the order in which they came`() async throws {
        let admission = Admission(limits(1))
        try await admission.enter("a")
        let first = await enters(admission, "b")
        let second = await enters(admission, "c")
        #expect(admission.counts == (running: 1, waiting: 2))
        admission.leave("a")
        #expect(await first.value)
        #expect(admission.counts == (running: 1, waiting: 1))
        admission.leave("b")
        #expect(await second.value)
        admission.leave("c")
        #expect(admission.counts == (running: 0, waiting: 0))
    }

    @Test func `a client at its own limit waits, and does not hold up those behind it`() async throws {
        let admission = Admission(limits(3, perClient: 1))
        try await admission.enter("a")
        let again = await enters(admission, "a")
        try await admission.enter("b")
        #expect(admission.counts == (running: 2, waiting: 1))
        admission.leave("a")
        #expect(await again.value)
    }

    @Test func `requests that were cancelled while they waited do not set their client back`() async throws {
        let admission = Admission(limits(1))
        try await admission.enter("a")
        let order = Locked<[String]>([])
        func enters(_ client: String) async -> Task<Void, Never> {
            let before = admission.counts
            let task = Task {
                guard (try? await admission.enter(client)) != nil else { return }
                order.withLock { $0.append(client) }
                admission.leave(client)
            }
            await eventually { admission.counts != before }
            return task
        }
        var tasks = [await enters("d")]
        for _ in 0..<20 {
            let cancelled = await enters("b")
            cancelled.cancel()
            await cancelled.value
        }
        for client in ["b", "c", "c"] { tasks.append(await enters(client)) }
        admission.leave("a")
        for task in tasks { await task.value }
        #expect(order.withLock { $0 } == ["d", "b", "c", "c"])
    }

    @Test func `a full queue refuses requests, and one client cannot fill it alone`() async throws {
        let admission = Admission(limits(1, perClient: 2, waiting: 3, waitingPerClient: 2))
        try await admission.enter("a")
        let waiting = [await enters(admission, "b"), await enters(admission, "b")]
        await #expect(throws: Admission.Rejection.full(.client)) { try await admission.enter("b") }
        let other = await enters(admission, "c")
        await #expect(throws: Admission.Rejection.full(.total)) { try await admission.enter("d") }
        for task in waiting + [other] {
            task.cancel()
            #expect(await !task.value)
        }
        #expect(admission.counts == (running: 1, waiting: 0))
    }

    @Test func `clients that wait take turns, however many requests one of them has`() async throws {
        let admission = Admission(limits(1))
        try await admission.enter("x")
        var tasks: [Task<Bool, Never>] = []
        for client in ["greedy", "greedy", "greedy", "modest"] { tasks.append(await enters(admission, client)) }
        admission.leave("x")
        #expect(await tasks[0].value)
        admission.leave("greedy")
        #expect(await tasks[3].value, "the modest one's turn comes before the greedy one's second")
        admission.leave("modest")
        for task in tasks[1...2] {
            #expect(await task.value)
            admission.leave("greedy")
        }
        #expect(admission.counts == (running: 0, waiting: 0))
    }

    @Test func `a request that is cancelled while it waits takes no place`() async throws {
        let admission = Admission(limits(1))
        try await admission.enter("a")
        let task = await enters(admission, "b")
        task.cancel()
        #expect(await !task.value)
        admission.leave("a")
        #expect(admission.counts == (running: 0, waiting: 0))
        try await admission.enter("c")
    }

    @Test func `higher limits admit waiting requests`() async throws {
        let admission = Admission(limits(1))
        try await admission.enter("a")
        let task = await enters(admission, "b")
        admission.update(limits(2))
        #expect(await task.value)
    }
}
