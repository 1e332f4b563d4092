import ConcurrencyPrimitives
import Transfer

/// The controls of one scripted transfer.
final class ScriptedControl: TransferControl {
    private let transport: ScriptedTransport
    private let transfer: Int
    /// Closed while the sink has paused the transfer.
    private let gate = AsyncGate(isOpen: true)
    private let state = Locked(State())

    private struct State {
        var task: Task<Result<TransferResult, TransferError>, Never>?
        var isCancelled = false
    }

    init(transport: ScriptedTransport, transfer: Int) {
        self.transport = transport
        self.transfer = transfer
    }

    func attach(_ task: Task<Result<TransferResult, TransferError>, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func resume() { gate.open() }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    func prioritize(_ priority: TransferPriority) { transport.prioritize(transfer, priority) }

    /// Writes bytes until the sink takes them, or the transfer is cancelled.
    func write(_ bytes: [UInt8], to sink: any BodySink) async throws {
        while !bytes.isEmpty, !Task.isCancelled {
            // Closed before the sink is called, which may resume before it returns.
            gate.close()
            if case .accepted = try bytes.withUnsafeBytes({ try sink.write($0) }) { return }
            await gate.wait()
        }
    }
}
