import ConcurrencyPrimitives

/// The sink of a body that arrives over several connections. Calls are made one after another, and no lock is held during a call.
///
/// A connection that calls during another connection's call leaves its own call to that connection and continues to receive.
final class SinkLine: Sendable {
    private enum Call {
        case write([UInt8], at: Int64)
        case writeBatchComplete
        case end(AttemptEnding)
    }

    /// The number of bytes that may wait for the sink before connections are paused.
    private static let mostWaiting = 2 << 20

    private struct State {
        var isTaken = false
        /// The calls that were left to the connection that is calling.
        var calls: [Call] = []
        var waitingBytes = 0
        /// The connections that continue when no call waits any more.
        var paused: [any TransferControl] = []
        var failure: (any Error)?
        var segmentLimit: Int64?
    }

    private let sink: any BodySink
    private let state = Locked(State())

    init(_ sink: any BodySink) { self.sink = sink }

    /// The first error of a call. The sink is not called after it.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// The sink's ``BodySink/segmentLimit`` after the last call.
    var segmentLimit: Int64? { state.withLock { $0.segmentLimit } }

    /// Records the sink's limit. Called only while no other connection calls the sink.
    func noteLimit() {
        let limit = sink.segmentLimit
        state.withLock { $0.segmentLimit = limit }
    }

    /// Returns true if no other connection is calling. Otherwise leaves the call to that connection.
    private func enter(orLeave call: Call? = nil) -> Bool {
        state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return true
            }
            guard let call else { return false }
            state.calls.append(call)
            if case .write(let bytes, _) = call { state.waitingBytes += bytes.count }
            return false
        }
    }

    /// Makes the calls that other connections have left, until there are no more.
    private func leave() {
        while true {
            noteLimit()
            let (calls, paused) = state.withLock { state -> ([Call], [any TransferControl]) in
                defer { (state.calls, state.waitingBytes) = ([], 0) }
                if !state.calls.isEmpty { return (state.calls, []) }
                state.isTaken = false
                defer { state.paused = [] }
                return ([], state.paused)
            }
            for control in paused { control.resume() }
            if calls.isEmpty { return }
            for call in calls { perform(call) }
        }
    }

    /// Returns true if bytes may be written now. Otherwise the connection is resumed when no call waits any more.
    func hasRoom(orResume control: (any TransferControl)?) -> Bool {
        state.withLock { state in
            guard state.waitingBytes >= Self.mostWaiting, let control else { return true }
            state.paused.append(control)
            return false
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        if enter() {
            perform { try sink.write(bytes, at: offset) }
            leave()
        } else {
            make(.write(Array(bytes), at: offset))
        }
    }

    func writeBatchComplete() { make(.writeBatchComplete) }

    func end(_ ending: AttemptEnding) { make(.end(ending)) }

    private func make(_ call: Call) {
        guard enter(orLeave: call) else { return }
        perform(call)
        leave()
    }

    private func perform(_ call: Call) {
        perform {
            switch call {
            case .write(let bytes, let offset): try bytes.withUnsafeBytes { try sink.write($0, at: offset) }
            case .writeBatchComplete: sink.writeBatchComplete()
            case .end(let ending): try sink.end(ending)
            }
        }
    }

    private func perform(_ call: () throws -> Void) {
        guard failure == nil else { return }
        do { try call() } catch { state.withLock { $0.failure = error } }
    }
}
