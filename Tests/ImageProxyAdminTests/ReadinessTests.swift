import Testing

@testable import ImageProxyAdmin

@Suite("Readiness")
struct ReadinessTests {
    @Test(arguments: [Readiness.State.ready, .unwritable, .undecodable])
    func `a running server has the state that a check finds, unless the shutdown began meanwhile`(
        _ found: Readiness.State
    ) async {
        let readiness = Readiness()
        readiness.start()
        let state = await readiness.state { found }
        #expect(state == found)
        let last = await readiness.state {
            readiness.stop()
            return found
        }
        #expect(last == .stopping)
    }

    @Test func `a server that starts or stops is not checked`() async {
        let readiness = Readiness()
        let first = await readiness.state { .ready }
        #expect(first == .starting)
        readiness.stop()
        let last = await readiness.state { .ready }
        #expect(last == .stopping)
    }
}
