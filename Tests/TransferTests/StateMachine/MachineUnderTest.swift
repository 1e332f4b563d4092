import FoundationEssentials
import HTTPSemantics
import HTTPTypes

@testable import Transfer

/// A ``TransferStateMachine`` that is driven by events written as values, and whose actions and states are written as text.
struct MachineUnderTest {
    static let stall = TransferError(
        .stalled, url: "http://a.example/file", "no byte from the server for 30 s", isRetryable: true)
    private static let slow = TransferError(.tooSlow, url: "http://a.example/file", "few bytes", isRetryable: true)

    enum Event: Sendable {
        case start, learn(HeldPartial?), headBegan, interim(Int), head(Response), broken, judge
        case piece(Int64), wrote(Int64), sinkPauses, sinkResumes, rateAllows
        case end, stalled, tooSlow, fails(Failure)
        case sinkOK, sinkThrows, writeThrows, canRestart(HeldPartial?), cannotRestart, refusedAddress, cancel
        case wait(Duration)
    }

    struct Response: Hashable, Sendable {
        var status: Int
        var fields: HTTPFields
        var version = "HTTP/1.1"
        /// The status that libcurl reads: another one in a trailer.
        var readAs: Int?
    }

    enum Failure: Hashable, Sendable { case cut, unreachable, tls, spoiled, connectTimeout, responseTimeout }

    struct Refusal: Error {}

    var machine: TransferStateMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    private let date = Date(timeIntervalSince1970: 1_000_000)

    init(_ request: TransferRequest, rules: TransferStateMachine.Rules = .init()) throws {
        machine = TransferStateMachine(try CheckedRequest(request), rules: rules, startedAt: now)
    }

    /// Performs an event and tells what came of it.
    mutating func send(_ event: Event) -> String {
        switch event {
        case .start: return text(machine.start(at: now, date: date))
        case .learn(let held): return text(machine.learned(held: held))
        case .headBegan: machine.headBegan(at: now)
        case .interim(let status):
            return text(
                machine.receivedInterim(.init(code: status), [.contentLength: "5", .eTag: "\"a\""], at: now))
        case .head(let response):
            let head = ReceivedHead(
                status: response.status, version: response.version, fields: response.fields, receivedAt: date)
            return text(machine.received(head, readAs: response.readAs ?? response.status, at: now))
        case .broken: return text(machine.fieldsBroke("no end"))
        case .judge: return text(machine.judgeHead())
        case .piece(let count): return text(machine.received(count, at: now))
        case .wrote(let count): machine.wrote(count, at: now)
        case .sinkPauses: machine.pausedBySink()
        case .sinkResumes: return machine.resume(at: now) ? "goes on" : "none"
        case .rateAllows: return machine.rateAllows(at: now) ? "goes on" : "none"
        case .end: return text(machine.exchangeEnded(.complete, at: now))
        case .stalled: return text(machine.exchangeEnded(.stalled(Self.stall), at: now))
        case .tooSlow: return text(machine.exchangeEnded(.stalled(Self.slow), at: now))
        case .fails(let failure): return text(machine.exchangeEnded(.failed(failure.value), at: now))
        case .sinkOK: return text(machine.sinkSucceeded())
        case .sinkThrows: return text(machine.sinkFailed(Refusal()))
        case .writeThrows: return text(machine.sinkFailed(Refusal(), isBodyOpen: true))
        case .canRestart(let held): return text(machine.sinkCanRestart(held: held, random: 0.5, at: now))
        case .cannotRestart: return text(machine.sinkCannotRestart())
        case .refusedAddress: machine.refusedAddress("it is at home")
        case .cancel: return text(machine.cancel())
        case .wait(let duration): now = now + duration
        }
        return "none"
    }

    /// Performs events of which each one's outcome but the last's is of no interest.
    @discardableResult
    mutating func send(_ events: [Event]) -> String {
        var last = "none"
        for event in events { last = send(event) }
        return last
    }

    /// The state's name.
    var state: String { Self.name(machine.state) }

    private static func name(_ state: TransferStateMachine.State) -> String {
        switch state {
        case .ready(.first): "new"
        case .ready(.attempt): "ready"
        case .ready(.redirect): "ready for redirect"
        case .exchanging(_, let stage): name(stage)
        case .awaitingSink(.confirming): "confirming"
        case .awaitingSink(.ending): "ending body"
        case .awaitingSink(.betweenRanges): "between ranges"
        case .awaitingSink(.retrying): "retrying"
        case .finished: "finished"
        }
    }

    private static func name(_ stage: TransferStateMachine.Stage) -> String {
        switch stage {
        case .awaitingHead(let awaited):
            switch awaited.head {
            case .none: "awaiting head"
            case .begun: "inside head"
            case .complete: "unjudged head"
            }
        case .receivingBody(_, .flowing): "receiving"
        case .receivingBody(_, .pausedBySink): "paused"
        case .receivingBody(_, .rateLimited): "rate-limited"
        case .discarding(.redirect, _): "discarding redirect"
        case .discarding: "discarding"
        case .stopping(.failure): "stopping"
        case .stopping(.restart): "stopping to restart"
        }
    }
}

extension MachineUnderTest.Failure {
    fileprivate var value: TransportFailure {
        switch self {
        case .cut: TransportFailure(code: .cut, message: "cut", isRetryable: true)
        case .unreachable:
            TransportFailure(code: .connect, message: "refused", isRetryable: true, isWithoutConnection: true)
        case .connectTimeout:
            TransportFailure(code: .timeout, message: "late", isRetryable: true, isWithoutConnection: true)
        case .responseTimeout: TransportFailure(code: .timeout, message: "late", isRetryable: true)
        case .tls: TransportFailure(code: .tls, message: "not trusted", isRetryable: false)
        case .spoiled:
            TransportFailure(
                code: .protocolViolation, message: "no HTTP", isRetryable: false, isFromSpoiledConnection: true)
        }
    }
}

private func text(_ action: TransferStateMachine.BodyAction) -> String {
    switch action {
    case .write: "write"
    case .discard: "discard"
    case .pause: "pause"
    case .stop: "stop"
    }
}

private func text(_ action: TransferStateMachine.Action) -> String {
    switch action {
    case .none: "none"
    case .loadPartial: "load partial"
    case .send(let request): text(request)
    case .passInterim(let status, let fields): "interim \(status.code) with \(fields.count) fields"
    case .beginBody(let start): text(start)
    case .stop: "stop"
    case .endBody(.complete): "end complete"
    case .endBody(.cut): "end cut"
    case .endBody(.discarded): "end discarded"
    case .askCanRestart: "ask can restart"
    case .again(let reason): reason.map { "again: \($0)" } ?? "again"
    case .wait(let delay, let reason): "wait \(delay.text): \(reason)"
    case .finish(.success(let result)): text(result)
    case .finish(.failure(let error)): "failed \(error.code): \(error.message)"
    }
}

private func text(_ request: OutgoingRequest) -> String {
    var parts = ["\(request.hop.method) \(request.hop.url.text)"]
    if let range = request.range { parts.append("range \(range)") }
    for field in request.conditions { parts.append("\(field.name): \(field.value)") }
    if let credentials = request.hop.credentials { parts.append("as \(credentials.user)") }
    if !request.hop.isOwnOrigin { parts.append("elsewhere") }
    if request.hop.sendsContent { parts.append("content") }
    if request.usesFreshConnection { parts.append("fresh") }
    if let timeLeft = request.timeLeft { parts.append("within \(timeLeft.text)") }
    return parts.joined(separator: ", ")
}

private func text(_ start: BodyStart) -> String {
    let placement =
        switch start.placement {
        case .whole(let length): "whole of \(length.map { "\($0)" } ?? "?")"
        case .range(let range, let total): "\(range.lowerBound)..<\(range.upperBound) of \(total)"
        case .alreadyComplete(let total): "complete \(total)"
        }
    return "begin \(placement)" + (start.restarting.map { ", dropping: \($0)" } ?? "")
}

private func text(_ result: TransferResult) -> String {
    let outcome =
        switch result.outcome {
        case .body: "body"
        case .notModified: "not modified"
        case .status: "status \(result.head.status.code)"
        }
    let resumed = result.resumedFrom > 0 ? " from \(result.resumedFrom)" : ""
    return outcome + resumed + (result.retriesEnded.map { " (\($0))" } ?? "")
}
