import ConcurrencyPrimitives
import Testing

@testable import RemoteStore

@Suite("Notices of a remote store's failures")
struct RemoteNoticesTests {
    private func notices(_ ends: [(isFailure: Bool, change: CircuitBreaker.Change?)]) -> [RemoteNotices.Notice] {
        var notices = RemoteNotices()
        return ends.compactMap { notices.notice(isFailure: $0.isFailure, $0.change) }
    }

    @Test func `the first failure is reported at once, and not again when it opens the circuit`() {
        #expect(notices([(false, nil), (true, nil), (true, nil), (true, .opened)]) == [.failed])
        #expect(notices([(true, .opened), (true, nil)]) == [.failed])
    }

    @Test func `a later failure is not reported, but a later outage and its end are`() {
        #expect(
            notices([
                (true, nil), (false, nil), (true, nil), (true, nil), (true, .opened), (true, nil), (false, .closed),
                (true, .opened),
            ]) == [.failed, .opened, .closed, .opened])
    }

    @Test func `slowness is reported when it opens the circuit`() {
        #expect(notices([(false, nil), (false, nil), (false, .opened)]) == [.opened])
    }
}
