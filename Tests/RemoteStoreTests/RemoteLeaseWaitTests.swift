import FoundationEssentials
import Testing

@testable import RemoteStore

@Suite("Waiting for the holder of a lease")
struct RemoteLeaseWaitTests {
    private let start = ContinuousClock.now
    private let stored = Date(timeIntervalSince1970: 1_700_000_000)

    /// A wait that expressions may change.
    private final class Subject {
        private var wait: RemoteLeaseWait

        init(limit: Duration, at now: ContinuousClock.Instant) {
            wait = RemoteLeaseWait(leaseTime: .seconds(3), limit: limit, at: now)
        }

        func next(_ lease: RemoteReading, at now: ContinuousClock.Instant) -> RemoteLeaseWait.Step {
            wait.next(lease, at: now)
        }

        func refused(at now: ContinuousClock.Instant) { wait.refused(at: now) }
    }

    private func wait(limit: Duration = .seconds(30)) -> Subject { Subject(limit: limit, at: start) }

    private func lease(_ tag: String? = "a", age: Double?) -> RemoteReading {
        RemoteReading(
            .object([1]), tag: tag, modified: age.map { _ in stored },
            storeTime: age.map { stored.addingTimeInterval($0) })
    }

    @Test func `a lease that is renewed is waited for, with growing pauses`() {
        let wait = wait()
        let pauses = (0..<6).map { _ in wait.next(lease(age: 1), at: start) }
        #expect(
            pauses == [20, 40, 80, 160, 250, 250].map { RemoteLeaseWait.Step.look(after: .milliseconds($0)) })
    }

    @Test func `a lease that is too old by the store's time is taken over, whatever the local time`() {
        #expect(wait().next(lease(age: 3), at: start) == .takeOver(tag: "a"))
        let wait = wait()
        #expect(wait.next(lease(age: 2), at: start + .seconds(10)) == .look(after: .milliseconds(20)))
    }

    @Test func `a lease that is gone is waited for no longer`() {
        #expect(wait().next(RemoteReading(.absent), at: start) == .proceed)
    }

    @Test func `no wait exceeds the limit`() {
        let wait = wait(limit: .seconds(4))
        #expect(
            wait.next(lease(age: 0), at: start + .milliseconds(3990)) == .look(after: .milliseconds(10)))
        #expect(wait.next(lease(age: 0), at: start + .seconds(4)) == .proceed)
        #expect(wait.next(lease(age: 9), at: start + .seconds(5)) == .proceed)
    }

    @Test func `the successor is waited for, as long as it renews the lease`() {
        let wait = wait()
        #expect(wait.next(lease(age: 4), at: start) == .takeOver(tag: "a"))
        wait.refused(at: start)
        #expect(wait.next(lease(age: 4), at: start) == .look(after: .milliseconds(20)))
        #expect(wait.next(lease("b", age: 0), at: start + .seconds(2)) == .look(after: .milliseconds(40)))
        #expect(wait.next(lease("b", age: 3), at: start + .seconds(5)) == .takeOver(tag: "b"))
    }

    @Test func `a successor that dies as well is not waited for`() {
        let wait = wait()
        _ = wait.next(lease(age: 4), at: start)
        wait.refused(at: start)
        #expect(wait.next(lease(age: 7), at: start + .seconds(3)) == .proceed)
    }

    @Test func `a lease without the store's times is as old as it was seen unchanged`() {
        let wait = wait()
        #expect(wait.next(lease(age: nil), at: start) == .look(after: .milliseconds(20)))
        #expect(wait.next(lease(age: nil), at: start + .seconds(2)) == .look(after: .milliseconds(40)))
        #expect(wait.next(lease("b", age: nil), at: start + .seconds(3)) == .look(after: .milliseconds(80)))
        #expect(wait.next(lease("b", age: nil), at: start + .seconds(6)) == .takeOver(tag: "b"))
    }
}
