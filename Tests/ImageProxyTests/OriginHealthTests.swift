import ConcurrencyPrimitives
import HTTPServer
import HTTPTypes
import ImageCache
import Testing
import Transfer

@testable import ImageProxy

@Suite("The health of an origin")
struct OriginHealthTests {
    /// A clock that stands still until it is moved.
    private final class Clock: Sendable {
        private let time = Locked(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 += duration } }
    }

    private let clock = Clock()
    private let changes = Locked<[CircuitBreaker.Change]>([])

    private func health(failures: Int = 3) -> OriginHealth {
        var limits = CircuitBreaker.Limits()
        limits.failures = failures
        limits.slow = .seconds(1 << 30)
        return OriginHealth(limits, now: { [clock] in clock.now }) { [changes] change in
            changes.withLock { $0.append(change) }
        }
    }

    @Test func `it is left alone after failures in a row, tried by one request, and asked again when that succeeds`() {
        let health = health()
        for outcome in [GateOutcome.failed, .responded(.serviceUnavailable), .responded(.ok)] {
            #expect(health.begin() == nil)
            health.finished(outcome)
        }
        for outcome in [GateOutcome.failed, .unknown, .responded(.badGateway), .responded(.gatewayTimeout)] {
            #expect(health.begin() == nil, "what tells nothing neither counts nor begins the count anew")
            health.finished(outcome)
        }
        #expect(health.begin() == .seconds(1))
        #expect(health.snapshot.state == "open" && !health.snapshot.isAvailable)
        clock.advance(by: .seconds(1))
        #expect(health.begin() == nil)
        #expect(health.snapshot.state == "half-open")
        #expect(health.begin() != nil, "one request tries")
        health.finished(.failed)
        clock.advance(by: .milliseconds(1999))
        #expect(health.begin() == .milliseconds(1))
        clock.advance(by: .milliseconds(1))
        #expect(health.begin() == nil)
        health.finished(.responded(.notFound))
        #expect(health.begin() == nil && health.snapshot.state == "closed")
        #expect(changes.withLock { $0 } == [.opened, .closed])
        let snapshot = health.snapshot
        #expect((snapshot.failures, snapshot.openings, snapshot.refused) == (6, 1, 3))
    }

    @Test func `a trial that was cancelled is tried again at once`() {
        let health = health(failures: 1)
        _ = health.begin()
        health.finished(.failed)
        clock.advance(by: .seconds(1))
        #expect(health.begin() == nil)
        health.finished(.unknown)
        #expect(health.begin() == nil)
    }

    @Test func `other limits take effect, equal ones forget nothing`() {
        let health = health(failures: 1)
        health.finished(.failed)
        var limits = CircuitBreaker.Limits()
        limits.failures = 1
        limits.slow = .seconds(1 << 30)
        health.update(limits)
        #expect(health.begin() != nil)
        health.update(nil)
        for _ in 0..<100 { health.finished(.failed) }
        #expect(health.begin() == nil)
    }

    @Test func `a gate refuses what is for a failing origin, and passes what is for other hosts`() async throws {
        let health = health(failures: 1)
        var authorization = OriginGate.Authorization()
        authorization.fields = [.authorization: "Bearer secret"]
        let gate = OriginGate(
            name: "shop", base: OriginBase("https://shop.example/base"), health: health, authorization: authorization,
            connections: 7
        ) { $0.host == "shop.example" ? .anyAddress : .refused }
        let own = TransferRequest(url: "https://shop.example/base/a.jpg")
        let other = TransferRequest(url: "https://cdn.example/a.jpg")
        let admission = try await gate.admit(own)
        #expect(admission.request.originFields[.authorization] == "Bearer secret")
        #expect(admission.request.fields.isEmpty)
        admission.report?(.failed)
        let error = await #expect(throws: TransferError.self) { try await gate.admit(own) }
        #expect(error?.code == .leftAlone && (error?.cause as? OriginPause)?.retryAfter == 1)
        let passed = try await gate.admit(other)
        #expect(passed.report == nil && passed.request.originFields.isEmpty)
        let response = Response(failure: ImageCacheError(.unreachable, message: "", cause: error))
        #expect(response.head.status == .serviceUnavailable && response.head.headerFields[.retryAfter] == "1")
    }

    @Test func `what only an origin's keys open has a namespace of its own`() {
        func gate(_ fields: HTTPFields) -> OriginGate {
            var authorization = OriginGate.Authorization()
            authorization.fields = fields
            return OriginGate(
                name: "a", base: OriginBase("https://a.example"), health: OriginHealth(nil),
                authorization: authorization
            ) { _ in .refused }
        }
        #expect(gate([:]).namespace == nil)
        let one = gate([.authorization: "one"]).namespace
        #expect(one != nil && one == gate([.authorization: "one"]).namespace)
        #expect(one != gate([.authorization: "two"]).namespace && one != gate([.cookie: "one"]).namespace)
        #expect(one?.contains("one") == false)
    }
}
