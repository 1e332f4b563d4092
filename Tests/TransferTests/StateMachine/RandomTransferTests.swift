import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import Transfer

@Suite struct RandomTransferTests {
    @Test func `each body and each transfer end once after random events`() throws {
        var generator = SeededGenerator(for: "RandomTransferTests")
        for _ in 0..<1000 {
            var run = try RandomTransfer(&generator)
            for _ in 0..<150 where !run.isFinished { run.step(&generator) }
            run.cancel(&generator)
            #expect(run.isFinished)
            #expect(!run.isBodyOpen)
            if !run.violations.isEmpty {
                Issue.record("\(run.violations): \(run.log)")
                return
            }
        }
    }
}

/// A transfer whose origin and sink act randomly, and that checks the contract of ``BodySink``.
private struct RandomTransfer {
    private var machine: TransferStateMachine
    private var now = MonotonicTime(nanoseconds: 0)
    private var isStopping = false
    /// True if the body was open when the sink threw in the present exchange; nil: it has not thrown.
    private var wasOpenAtThrow: Bool?
    private(set) var isBodyOpen = false
    private(set) var isFinished = false
    private(set) var violations: [String] = []
    private(set) var log: [String] = []

    init(_ generator: inout SeededGenerator) throws {
        let request = Sample.request(method: Int.random(in: 0..<8, using: &generator) == 0 ? .head : .get) {
            $0.options.retry.maxRetries = 3
            $0.options.maxRedirects = Int.random(in: 0...2, using: &generator)
            $0.options.forwardsErrorResponses = Bool.random(using: &generator)
            $0.options.maxFileSize = Bool.random(using: &generator) ? 90 : nil
            $0.options.rateLimit = Bool.random(using: &generator) ? 100 : nil
        }
        machine = TransferStateMachine(try CheckedRequest(request), startedAt: now)
        perform(machine.start(at: now, date: Date(timeIntervalSince1970: 0)), &generator)
    }

    mutating func cancel(_ generator: inout SeededGenerator) {
        if !isFinished { perform(machine.cancel(), &generator) }
    }

    /// One event of the transport.
    mutating func step(_ generator: inout SeededGenerator) {
        now = now + .milliseconds(Int.random(in: 0..<50, using: &generator))
        if isStopping { return end(&generator) }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: perform(machine.fieldsBroke("broken"), &generator)
        case 1: perform(machine.receivedInterim(.init(code: 103), [:], at: now), &generator)
        case 2: machine.headBegan(at: now)
        case 3: machine.refusedAddress("home")
        case 4: _ = machine.resume(at: now)
        case 5: _ = machine.rateAllows(at: now)
        case 6..<11: perform(machine.received(randomHead(&generator), readAs: status, at: now), &generator)
        case 11..<17: receive(&generator)
        default: end(&generator)
        }
    }

    private var status = 200

    private mutating func randomHead(_ generator: inout SeededGenerator) -> ReceivedHead {
        status = [200, 200, 200, 206, 206, 304, 302, 404, 416, 503].randomElement(using: &generator) ?? 200
        var fields: HTTPFields = Bool.random(using: &generator) ? [.eTag: "\"a\""] : [:]
        if Bool.random(using: &generator) {
            fields[.contentLength] = ["0", "60", "100", "1, 2"].randomElement(using: &generator)
        }
        if status == 206 {
            fields[.contentRange] = ["bytes 40-99/100", "bytes 40-69/*", "bytes 99-99/100"].randomElement(
                using: &generator)
        }
        if status == 416 { fields[.contentRange] = "bytes */40" }
        if status == 302 {
            fields[.location] = ["/b", "http://b.example/", "mailto:x"].randomElement(using: &generator)
        }
        return ReceivedHead(status: status, version: "HTTP/1.1", fields: fields, receivedAt: Date())
    }

    private mutating func receive(_ generator: inout SeededGenerator) {
        if machine.hasUnjudgedHead { perform(machine.judgeHead(), &generator) }
        if isStopping || isFinished { return }
        let count = Int64.random(in: 1...60, using: &generator)
        switch machine.received(count, at: now) {
        case .write:
            check(isBodyOpen || wasOpenAtThrow != nil, "a piece without a body")
            switch Int.random(in: 0..<12, using: &generator) {
            case 0: sinkThrows(&generator)
            case 1: machine.pausedBySink()
            default: machine.wrote(count, at: now)
            }
        case .discard, .pause: break
        case .stop: isStopping = true
        }
    }

    /// A call of the sink throws during an exchange. The machine is told so now, or only when the body ends.
    private mutating func sinkThrows(_ generator: inout SeededGenerator) {
        guard wasOpenAtThrow == nil else { return }
        wasOpenAtThrow = isBodyOpen
        if Bool.random(using: &generator) { perform(machine.sinkFailed(MachineUnderTest.Refusal()), &generator) }
    }

    private mutating func end(_ generator: inout SeededGenerator) {
        isStopping = false
        let failure = TransportFailure(
            code: .connect, message: "broke", isRetryable: true,
            isFromSpoiledConnection: Bool.random(using: &generator))
        let end = [ExchangeEnd.complete, .complete, .stalled(MachineUnderTest.stall), .failed(failure)].randomElement(
            using: &generator)
        perform(machine.exchangeEnded(end ?? .complete, at: now), &generator)
    }

    private mutating func perform(_ first: TransferStateMachine.Action, _ generator: inout SeededGenerator) {
        var action = first
        while true {
            log.append("\(action)".prefix(40).description)
            let sinkAgrees = Int.random(in: 0..<12, using: &generator) > 0
            switch action {
            case .none, .passInterim: return
            case .send: return check(!isBodyOpen, "a request while a body is open")
            case .stop:
                isStopping = true
                return
            case .beginBody where machine.sent != nil:
                check(!isBodyOpen, "a body in a body")
                isBodyOpen = sinkAgrees
                if !sinkAgrees { sinkThrows(&generator) }
                return
            case .beginBody:
                check(!isBodyOpen, "a body in a body")
                isBodyOpen = sinkAgrees
                action = sinkAgrees ? machine.sinkSucceeded() : machine.sinkFailed(MachineUnderTest.Refusal())
            case .endBody where wasOpenAtThrow != nil:
                let isOpen = wasOpenAtThrow ?? false
                wasOpenAtThrow = nil
                action = machine.sinkFailed(MachineUnderTest.Refusal(), isBodyOpen: isOpen)
            case .endBody(let ending):
                check(isBodyOpen || ending == .discarded, "an end without a body")
                isBodyOpen = false
                action = sinkAgrees ? machine.sinkSucceeded() : machine.sinkFailed(MachineUnderTest.Refusal())
            case .loadPartial: action = machine.learned(held: randomHeld(&generator))
            case .askCanRestart:
                let held = randomHeld(&generator)
                action =
                    sinkAgrees ? machine.sinkCanRestart(held: held, random: 0.5, at: now) : machine.sinkCannotRestart()
            case .again, .wait: action = machine.start(at: now, date: Date(timeIntervalSince1970: 0))
            case .finish:
                check(!isFinished, "finished twice")
                isFinished = true
                return
            }
        }
    }

    private func randomHeld(_ generator: inout SeededGenerator) -> HeldPartial? {
        [nil, Sample.held(40), Sample.held(100), Sample.held(40, of: nil), Sample.held(missing: [40..<60, 70..<100])]
            .randomElement(using: &generator) ?? nil
    }

    private mutating func check(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }
}
