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

    /// The time for which the origin is left alone; nil: a transfer has begun.
    private func pause(_ health: OriginHealth) -> Duration? {
        do throws(OriginPause) {
            _ = try health.begin()
            return nil
        } catch {
            return error.left
        }
    }

    @Test func `it is left alone after failures in a row, tried by one request, and asked again when that succeeds`()
        throws
    {
        let health = health()
        for outcome in [GateOutcome.failed, .responded(.serviceUnavailable), .responded(.ok)] {
            health.finished(outcome, try health.begin())
        }
        // An unknown end neither counts nor begins the count anew.
        for outcome in [GateOutcome.failed, .unknown, .responded(.badGateway), .responded(.gatewayTimeout)] {
            health.finished(outcome, try health.begin())
        }
        #expect(pause(health) == .seconds(1))
        #expect(health.snapshot.state == "open" && !health.snapshot.isAvailable)
        clock.advance(by: .seconds(1))
        let trial = try health.begin()
        #expect(health.snapshot.state == "half-open")
        #expect(pause(health) != nil, "one request tries")
        health.finished(.failed, trial)
        clock.advance(by: .milliseconds(1999))
        #expect(pause(health) == .milliseconds(1))
        clock.advance(by: .milliseconds(1))
        health.finished(.responded(.notFound), try health.begin())
        #expect(pause(health) == nil && health.snapshot.state == "closed")
        #expect(changes.withLock { $0 } == [.opened, .closed])
        let snapshot = health.snapshot
        #expect((snapshot.failures, snapshot.openings, snapshot.refused) == (6, 1, 3))
    }

    @Test func `a trial that was cancelled is tried again at once`() throws {
        let health = health(failures: 1)
        health.finished(.failed, try health.begin())
        clock.advance(by: .seconds(1))
        health.finished(.unknown, try health.begin())
        #expect(pause(health) == nil)
    }

    @Test func `transfers that began before a failure decide nothing after it`() throws {
        let health = health(failures: 1)
        let (old, other) = (try health.begin(), try health.begin())
        health.finished(.failed, try health.begin())
        clock.advance(by: .seconds(1))
        let trial = try health.begin()
        health.finished(.responded(.ok), old)
        health.finished(.unknown, other)
        #expect(health.snapshot.state == "half-open" && pause(health) != nil)
        health.finished(.responded(.ok), trial)
        #expect(health.snapshot.state == "closed")
    }

    @Test func `other limits take effect, equal ones forget nothing`() throws {
        let health = health(failures: 1)
        let old = try health.begin()
        health.finished(.failed, try health.begin())
        var limits = CircuitBreaker.Limits()
        limits.failures = 1
        limits.slow = .seconds(1 << 30)
        health.update(limits)
        #expect(pause(health) != nil)
        health.update(nil)
        for _ in 0..<100 { health.finished(.failed, try health.begin()) }
        #expect(pause(health) == nil)
        health.update(limits)
        health.finished(.failed, old)
        #expect(pause(health) == nil, "the end of one that began under other limits")
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
