import FoundationEssentials
import HTTPTypes
import Testing

@testable import Transfer

@Suite("Retrying")
struct RetryTests {
    private func policy(_ change: (inout RetryPolicy) -> Void = { _ in }) -> RetryPolicy {
        var policy = RetryPolicy()
        change(&policy)
        return policy
    }

    private func decide(
        _ state: inout RetryState, progress: Bool = false, retryAfter: Duration? = nil, elapsed: Duration = .zero,
        random: Double = 0.5
    ) -> RetryState.Decision {
        state.decide(madeProgress: progress, retryAfter: retryAfter, elapsed: elapsed, random: random)
    }

    @Test func `the pause doubles up to its limit, and is a random part of the whole`() {
        let policy = policy()
        let whole = (1...8).map { policy.delay(beforeRetry: $0, random: 1) }
        #expect(whole == [1, 2, 4, 8, 16, 32, 60, 60].map { Duration.seconds($0) })
        #expect(policy.delay(beforeRetry: 3, random: 0) == .zero)
        #expect(policy.delay(beforeRetry: 3, random: 0.25) == .seconds(1))
        #expect(policy.delay(beforeRetry: .max, random: 1) == .seconds(60))
    }

    @Test(
        arguments: [
            ("7", 7), ("0", nil), ("007", 7), ("9223372036854775808", 1 << 31), ("99999999999999999999", 1 << 31),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:37 GMT", nil), ("-1", nil), ("1.5", nil),
            ("soon", nil), ("", nil), ("1, 2", nil),
        ] as [(String, Int64?)])
    func `Retry-After is a number of seconds of any length, or a date`(_ value: String, _ seconds: Int64?) {
        let received = Date(timeIntervalSince1970: 784_111_740.5)
        let head = ResponseHead(
            status: .serviceUnavailable, fields: [.retryAfter: value], finalURL: "http://a.example/",
            requestTime: received, responseTime: received)
        #expect(head.retryAfter == seconds.map { Duration.seconds($0) })
    }

    @Test func `retries end at the policy's limit, with a note`() {
        var state = RetryState(policy: policy { $0.maxRetries = 2 })
        #expect(decide(&state) == .retry(after: .milliseconds(500)))
        #expect(decide(&state) == .retry(after: .seconds(1)))
        #expect(decide(&state) == .giveUp(note: "2 retries without progress"))
    }

    @Test func `an unreachable host is tried again once within a second, unless the policy says otherwise`() {
        func decide(_ state: inout RetryState) -> RetryState.Decision {
            state.decide(madeProgress: false, retryAfter: nil, isUnreachable: true, elapsed: .zero, random: 0.99)
        }
        var state = RetryState(policy: policy())
        #expect(decide(&state) == .retry(after: .milliseconds(990)))
        #expect(decide(&state) == .giveUp(note: "1 retry without progress"))
        var patient = RetryState(policy: policy { $0.maxUnreachableRetries = 9 })
        for _ in 0..<5 {
            if case .giveUp = decide(&patient) { Issue.record("gave up") }
        }
        #expect(decide(&patient) == .giveUp(note: "5 retries without progress"))
    }

    @Test func `a policy without retries adds no note`() {
        var state = RetryState(policy: policy { $0.maxRetries = 0 })
        #expect(decide(&state) == .giveUp(note: nil))
    }

    @Test func `progress resets the count and the back-off`() {
        var state = RetryState(policy: policy { $0.maxRetries = 2 })
        for _ in 0..<50 {
            #expect(decide(&state, progress: true) == .retry(after: .milliseconds(500)))
            #expect(decide(&state) == .retry(after: .seconds(1)))
        }
        #expect(decide(&state) == .giveUp(note: "2 retries without progress"))
    }

    @Test func `Retry-After is honoured when it is longer than the back-off`() {
        var state = RetryState(policy: policy())
        #expect(decide(&state, retryAfter: .seconds(120)) == .retry(after: .seconds(120)))
        #expect(decide(&state, retryAfter: .milliseconds(1)) == .retry(after: .seconds(1)))
    }

    @Test func `a Retry-After beyond the limit ends the retries, and says so`() {
        var state = RetryState(policy: policy { $0.retryAfterLimit = .seconds(60) })
        #expect(decide(&state, retryAfter: .seconds(60)) == .retry(after: .seconds(60)))
        #expect(
            decide(&state, retryAfter: .seconds(61))
                == .giveUp(note: "the server asks to wait 61 s, more than the limit of 60 s"))
    }

    @Test func `no retry begins after the total time limit, including its pause`() {
        var state = RetryState(policy: policy { $0.maxTotalTime = .seconds(10) })
        #expect(decide(&state, elapsed: .seconds(9)) == .retry(after: .milliseconds(500)))
        #expect(
            decide(&state, elapsed: .milliseconds(9_001)) == .giveUp(note: "no retry later than 10 s after the start"))
    }

    @Test func `only temporary statuses are retried`() {
        let retryable = (100..<600).filter(RetryState.isRetryable(status:))
        #expect(retryable == [408, 425, 429, 500, 502, 503, 504])
    }
}
