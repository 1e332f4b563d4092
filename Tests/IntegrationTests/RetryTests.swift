import Foundation
import TestSupport
import Testing

/// Which failures are tried again, how often, and not before which time.
@Suite(.fewAtATime) struct RetryTests {
    private let work: TestWorkspace
    private let representation = Representation(seed: 71, size: 5000)

    init() throws {
        work = try TestWorkspace()
    }

    private func origin(
        failing count: Int = 1, _ failure: @escaping @Sendable () -> Behaviour
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { [representation] request in
            request.number <= count ? failure() : Behaviour(representation)
        }
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func `a status that may pass is tried again`(status: Int) async throws {
        let origin = try origin { .status(status) }
        let outcome = try await work.fetch(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(origin.requests.count == 2)
    }

    @Test(arguments: [400, 401, 403, 404, 410, 451, 501])
    func `any other error status is final`(status: Int) async throws {
        let origin = try origin { .status(status) }
        #expect(try await work.fetch(origin.url()).ending == .exited(4))
        #expect(origin.requests.count == 1)
    }

    @Test func `Retry-After in seconds is waited for`() async throws {
        let origin = try origin { .status(503, fields: [("Retry-After", "2")]) }
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.seconds >= 2)
    }

    @Test func `Retry-After as a date is waited for`() async throws {
        let origin = try origin {
            // A date has whole seconds: at least one full second lies before this one.
            .status(429, fields: [("Retry-After", httpDate(Date(timeIntervalSinceNow: 2.999)))])
        }
        let (outcome, answer) = try await work.fetchJSON(origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.seconds >= 1)
    }

    @Test func `--retry N bounds the attempts that make no progress`() async throws {
        let origin = try origin(failing: 100) { .status(503) }
        #expect(try await work.fetch("--retry", "2", origin.url()).ending == .exited(4))
        #expect(origin.requests.count == 3)
    }

    @Test func `an attempt that made progress resets the count`() async throws {
        let big = Representation(seed: 72, size: 1_500_000)
        let origin = try ScriptedOrigin { _ in Behaviour(big).with { $0.cutAfter = 400_000 } }
        let (outcome, answer) = try await work.fetchJSON("--retry", "1", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(big.content.equalsFile(at: answer.path ?? ""))
        #expect(origin.requests.count > 2)
    }

    @Test func `--retry-max-time starts no retry after it`() async throws {
        let origin = try origin(failing: 100) { .status(503, fields: [("Retry-After", "20")]) }
        let (outcome, answer) = try await work.fetchJSON("--retry-max-time", "2", origin.url())
        #expect(outcome.ending == .exited(4), "\(outcome)")
        #expect(answer.seconds < 15)
    }

    @Test func `a connection that is refused at first is tried again`() async throws {
        let stopped = try ScriptedOrigin(serving: representation)
        let url = stopped.url()
        stopped.stop()
        let outcome = try await work.fetch("--retry", "1", url)
        #expect(outcome.ending == .exited(3), "\(outcome)")
    }

    @Test func `a connection cut before the head is tried again`() async throws {
        let origin = try ScriptedOrigin(script: { [representation] request in
            request.number == 1 ? [.cut(reset: true)] : Behaviour(representation).script(for: request)
        })
        #expect(try await work.fetch(origin.url()).ending == .exited(0))
        #expect(origin.requests.count == 2)
    }

    @Test func `a response that is not HTTP is an error, not a hang`() async throws {
        let origin = try ScriptedOrigin(script: { _ in
            [.raw("SSH-2.0-OpenSSH_9.2\r\n\r\nhello\r\n"), .cut(reset: false)]
        })
        let outcome = try await work.fetch("--retry", "0", origin.url())
        #expect(outcome.ending == .exited(3) || outcome.ending == .exited(5), "\(outcome)")
        #expect(outcome.lines.isEmpty)
    }
}
