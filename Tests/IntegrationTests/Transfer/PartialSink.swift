import ConcurrencyPrimitives
import Foundation
import TestSupport
import Transfer

/// A body in memory that holds on to what it got, as the disk store does, and remembers every call.
final class PartialSink: BodySink {
    struct Refusal: Error, Equatable {
        let call: String
    }

    enum Call: Equatable {
        case held
        case begin(BodyPlacement)
        case end(AttemptEnding)
    }

    private struct State {
        var bytes: [UInt8] = []
        var held: [Range<Int64>] = []
        var total: Int64?
        var validator: ResumeValidator?
        var url = ""
        var position: Int64 = 0
        var calls: [Call] = []
        var throwing: String?
        var pauses = false
        var hasPaused = false
        var handle: (any TransferControl)?
    }

    private let state = Locked(State())

    /// - Parameter throwing: the call that is refused: begin, write or end.
    init(throwing: String? = nil) {
        state.withLock { $0.throwing = throwing }
    }

    /// Holds these ranges of the representation, as left by earlier attempts.
    convenience init(
        holding ranges: [Range<Int64>], of representation: Representation, totalKnown: Bool = true, url: String
    ) {
        self.init()
        state.withLock { state in
            state.bytes = [UInt8](repeating: 0, count: Int(ranges.last?.upperBound ?? 0))
            for range in ranges {
                state.bytes.replaceSubrange(
                    Int(range.lowerBound)..<Int(range.upperBound), with: representation.content.bytes(range))
            }
            state.held = ranges
            state.total = totalKnown ? representation.size : nil
            state.validator = representation.etag.map { .etag($0) }
            state.url = url
        }
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var calls: [Call] { state.withLock { $0.calls } }
    var begins: Int {
        calls.count {
            if case .begin = $0 { true } else { false }
        }
    }

    /// From now on every write is answered with `.pause`, until ``resume()``.
    func pause() { state.withLock { $0.pauses = true } }

    /// True if a write returned `.pause`.
    var hasPaused: Bool { state.withLock { $0.hasPaused } }

    func resume() {
        let handle = state.withLock { state in
            state.pauses = false
            return state.handle
        }
        handle?.resume()
    }

    var handle: (any TransferControl)? { state.withLock { $0.handle } }

    func attach(_ transfer: any TransferControl) { state.withLock { $0.handle = transfer } }

    func held() -> HeldPartial? {
        state.withLock { state in
            state.calls.append(.held)
            guard let validator = state.validator, !state.held.isEmpty else { return nil }
            var missing: [Range<Int64>] = []
            var position: Int64 = 0
            for range in state.held {
                if range.lowerBound > position { missing.append(position..<range.lowerBound) }
                position = range.upperBound
            }
            let end = state.total ?? .max
            if position < end { missing.append(position..<end) }
            return HeldPartial(validator: validator, total: state.total, missing: missing, url: state.url)
        }
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        try state.withLock { state in
            state.calls.append(.begin(placement))
            if state.throwing == "begin" { throw Refusal(call: "begin") }
            switch placement {
            case .whole(let length):
                state.bytes = []
                state.held = []
                state.total = length
                state.validator = head.resumeValidator
                state.url = head.finalURL
                state.position = 0
            case .range(let range, let total):
                state.total = total
                state.position = range.lowerBound
            case .alreadyComplete(let total):
                state.total = total
            }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        try state.withLock { state in
            if state.throwing == "write" { throw Refusal(call: "write") }
            if state.pauses {
                state.hasPaused = true
                return .pause
            }
            let end = state.position + Int64(bytes.count)
            if state.bytes.count < end {
                state.bytes += [UInt8](repeating: 0, count: Int(end) - state.bytes.count)
            }
            state.bytes.replaceSubrange(Int(state.position)..<Int(end), with: bytes)
            Self.insert(state.position..<end, into: &state.held)
            state.position = end
            return .accepted
        }
    }

    func end(_ ending: AttemptEnding) throws {
        try state.withLock { state in
            state.calls.append(.end(ending))
            if state.throwing == "end" { throw Refusal(call: "end") }
            if ending == .discarded {
                state.bytes = []
                state.held = []
                state.validator = nil
            }
        }
    }

    private static func insert(_ new: Range<Int64>, into ranges: inout [Range<Int64>]) {
        var merged: [Range<Int64>] = []
        for range in (ranges + [new]).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        ranges = merged
    }
}

/// Events of one transfer, as they come.
final class EventLog: Sendable {
    private let log = Locked([TransferEvent]())

    var all: [TransferEvent] { log.withLock { $0 } }

    func note(_ event: TransferEvent) { log.withLock { $0.append(event) } }
}

extension TransferRequest {
    /// Retries come at once: no test waits for a back-off.
    init(testing url: String, _ change: (inout TransferRequest) -> Void = { _ in }) {
        self.init(url: url)
        options.retry.baseDelay = .milliseconds(1)
        options.proxy = ""
        change(&self)
    }
}

/// The error of a transfer that must fail.
func failure(of transfer: () async throws(TransferError) -> TransferResult) async -> TransferError? {
    do {
        _ = try await transfer()
        return nil
    } catch {
        return error
    }
}
