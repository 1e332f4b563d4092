import ConcurrencyPrimitives
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PromiseTests {
    @Test func `every present and future waiter gets the first value`() async {
        let promise = Promise<Int>()
        async let one = promise.value()
        async let other = promise.valueDespiteCancellation()
        #expect(promise.settled() == nil)
        promise.fulfill(1)
        promise.fulfill(2)
        #expect(await one == 1)
        #expect(await other == 1)
        #expect(await promise.value() == 1)
        #expect(await promise.valueDespiteCancellation() == 1)
    }

    @Test func `cancelling a waiter ends its wait, unless it waits despite cancellation`() async {
        let promise = Promise<Int>()
        let patient = Task { await promise.valueDespiteCancellation() }
        let waiting = Task { await promise.value() }
        patient.cancel()
        waiting.cancel()
        #expect(await waiting.value == nil)
        promise.fulfill(3)
        #expect(await patient.value == 3)
    }
}
