import ConcurrencyPrimitives
import FoundationEssentials
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
    private let changes = Locked<[OriginBreaker.Change]>([])

    private func health(failures: Int = 3) -> OriginHealth {
        var limits = OriginBreaker.Limits()
        limits.failures = failures
        return OriginHealth(limits, now: { [clock] in clock.now }) { [changes] change in
            changes.withLock { $0.append(change) }
        }
    }

    private func asker(_ path: String = "/") -> OriginBreaker.Asker { OriginBreaker.Asker(client: "a", path: path) }

    private func fail(_ health: OriginHealth, _ paths: String...) throws {
        for path in paths { health.finished(.failed, try health.begin(asker(path))) }
    }

    /// The time for which the client is refused; nil: a transfer has begun.
    private func pause(_ health: OriginHealth) -> Duration? {
        do throws(OriginPause) {
            _ = try health.begin(asker())
            return nil
        } catch {
            return error.left
        }
    }

    @Test func `failures are transfers without a response, and the statuses of gateways`() throws {
        let health = health()
        for (outcome, isFailure) in [
            (GateOutcome.failed, true), (.responded(.badGateway), true), (.responded(.serviceUnavailable), true),
            (.responded(.gatewayTimeout), true), (.responded(.internalServerError), false),
            (.responded(.notFound), false), (.responded(.found), false), (.responded(.ok), false), (.unknown, false),
        ] {
            let before = health.snapshot.failures
            health.finished(outcome, try health.begin(asker()))
            #expect(health.snapshot.failures == before + (isFailure ? 1 : 0), "\(outcome)")
        }
    }

    @Test func `a failing client is refused, probes after the pause, and is served again after a success`()
        throws
    {
        let health = health()
        try fail(health, "/x", "/y", "/z")
        #expect(pause(health) == .seconds(1))
        #expect(health.snapshot.state == "open" && !health.snapshot.isAvailable)
        clock.advance(by: .seconds(1))
        let trial = try health.begin(asker())
        #expect(health.snapshot.state == "half-open" && pause(health) != nil)
        health.finished(.responded(.notFound), trial)
        #expect(pause(health) == nil && health.snapshot.state == "closed")
        #expect(changes.withLock { $0 } == [.opened, .closed])
        let snapshot = health.snapshot
        #expect((snapshot.failures, snapshot.openings, snapshot.refused) == (3, 1, 2))
    }

    @Test func `other limits take effect, equal ones forget nothing`() throws {
        let health = health(failures: 2)
        let old = try health.begin(asker("/old"))
        try fail(health, "/x", "/y")
        var limits = OriginBreaker.Limits()
        limits.failures = 2
        health.update(limits)
        #expect(pause(health) != nil)
        health.update(nil)
        for number in 0..<100 { try fail(health, "/\(number)") }
        #expect(pause(health) == nil)
        health.update(limits)
        try fail(health, "/x")
        health.finished(.failed, old)
        #expect(pause(health) == nil, "the end of one that began under other limits")
    }

    /// A transfer that ends at another origin, to which the first one has redirected.
    private struct RedirectedTransport: HTTPTransport {
        var status: HTTPResponse.Status?
        var totals: TransferTotals { TransferTotals() }

        func run(
            _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
        ) async throws(TransferError) -> TransferResult {
            guard let status else {
                var error = TransferError(.connect, url: request.url, "refused")
                error.isOfRedirectTarget = true
                throw error
            }
            let head = ResponseHead(
                status: status, fields: [:], finalURL: "https://cdn.example/x", requestTime: .now, responseTime: .now)
            return TransferResult(head: head, outcome: .status)
        }

        func shutDown() async {}
    }

    @Test(arguments: [nil, HTTPResponse.Status.serviceUnavailable])
    func `failures of a redirect's target do not count for the redirecting origin`(status: HTTPResponse.Status?)
        async throws
    {
        let health = health()
        let gate = OriginGate(name: "shop", base: OriginBase("https://shop.example"), health: health) { _ in
            .anyAddress
        }
        var request = TransferRequest(url: "https://shop.example/x")
        request.options.gate = GateReference(gate)
        for _ in 0..<5 {
            _ = try? await GatedTransport(RedirectedTransport(status: status), by: gate)
                .run(request, into: NoBody()) { _ in }
        }
        #expect(health.snapshot.failures == 0 && health.snapshot.isAvailable)
    }

    @Test func `a gate refuses requests for a failing origin, and passes those for other hosts`() async throws {
        let health = health(failures: 2)
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
        try await gate.admit(TransferRequest(url: "https://shop.example/base/b.jpg")).report?(.failed)
        let error = await #expect(throws: TransferError.self) { try await gate.admit(own) }
        #expect(error?.code == .leftAlone && (error?.cause as? OriginPause)?.retryAfter == 1)
        let passed = try await gate.admit(other)
        #expect(passed.report == nil && passed.request.originFields.isEmpty)
        let response = Response(failure: ImageCacheError(.unreachable, message: "", cause: error))
        #expect(response.head.status == .serviceUnavailable && response.head.headerFields[.retryAfter] == "1")
    }

    @Test func `responses that need an origin's credentials have their own namespace`() {
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

    @Test func `the traffic of the last minute has its rate, its errors and the time of its responses`() throws {
        let health = health(failures: 1000)
        func transfer(_ outcome: GateOutcome, taking time: Duration = .milliseconds(80)) throws {
            let admission = try health.begin(asker())
            clock.advance(by: time)
            health.finished(outcome, admission)
        }
        #expect(health.snapshot.recent == OriginTraffic.Recent())
        for _ in 0..<8 { try transfer(.responded(.ok)) }
        try transfer(.responded(.internalServerError))
        try transfer(.failed, taking: .seconds(30))
        try transfer(.unknown)
        clock.advance(by: .seconds(10) - .milliseconds(800))
        let recent = health.snapshot.recent
        #expect(abs(recent.requestsPerSecond - 10.0 / 40) < 0.01)
        #expect(recent.errorRatio == 0.2)
        let p95 = try #require(recent.p95)
        #expect(p95 <= .milliseconds(80) && p95 > .milliseconds(60))
        clock.advance(by: .seconds(70))
        #expect(health.snapshot.recent == OriginTraffic.Recent())
        let traffic = health.snapshot.traffic
        #expect(traffic.counts == [.success: 8, .serverError: 1, .failed: 1])
    }

    @Test func `traffic is counted without a breaker too`() throws {
        let health = OriginHealth(nil, now: { [clock] in clock.now })
        for _ in 0..<3 { health.finished(.responded(.notFound), try health.begin(asker())) }
        #expect(health.snapshot.traffic.counts == [.clientError: 3])
        #expect(health.snapshot.recent.errorRatio == 0)
    }
}
