import ConcurrencyPrimitives
import Transfer

/// A body that is forwarded from the origin to one reader and is not stored. The reader sets the pace.
final class PassthroughBody: Sendable {
    /// The number of unread bytes at which the transfer is paused.
    private static let limit = 512 << 10

    private struct State {
        var waiting: [UInt8] = []
        var isPaused = false
        var ending: Result<Void, ImageCacheError>?
        var reader: CheckedContinuation<Void, Never>?
        var transfer: (any TransferControl)?
    }

    private let state = Locked(State())

    // MARK: The transport's side

    func attach(_ transfer: any TransferControl) { state.withLock { $0.transfer = transfer } }

    func write(_ bytes: UnsafeRawBufferPointer) -> WriteResult {
        let (result, reader) = state.withLock { state -> (WriteResult, CheckedContinuation<Void, Never>?) in
            guard state.waiting.count < Self.limit else {
                state.isPaused = true
                return (.pause, nil)
            }
            state.waiting.append(contentsOf: bytes)
            defer { state.reader = nil }
            return (.accepted, state.reader)
        }
        reader?.resume()
        return result
    }

    func finish(_ ending: Result<Void, ImageCacheError>) {
        let reader = state.withLock { state in
            state.ending = state.ending ?? ending
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    // MARK: The reader's side

    private func next() async throws(ImageCacheError) -> [UInt8]? {
        while true {
            let (bytes, ending, paused) = state.withLock { state in
                defer {
                    state.waiting = []
                    state.isPaused = false
                }
                return (state.waiting, state.ending, state.isPaused ? state.transfer : nil)
            }
            paused?.resume()
            if !bytes.isEmpty { return bytes }
            if let ending {
                try ending.get()
                return nil
            }
            if Task.isCancelled { throw .cancelled }
            await wait()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.waiting.isEmpty, state.ending == nil, !Task.isCancelled else { return false }
                    state.reader = continuation
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }?.resume()
        }
    }

    /// The reader of the body. Releasing it before the end cancels the transfer.
    final class Reader: Sendable {
        private let body: PassthroughBody
        private let url: String
        /// Keeps the fetch of the body alive.
        private let subscription: FetchPool.Subscription?

        init(_ body: PassthroughBody, of url: String, keeping subscription: FetchPool.Subscription? = nil) {
            self.body = body
            self.url = url
            self.subscription = subscription
        }

        deinit {
            let transfer = body.state.withLock { $0.ending == nil ? $0.transfer : nil }
            transfer?.cancel()
        }

        func next() async throws(ImageCacheError) -> [UInt8]? {
            do throws(ImageCacheError) { return try await body.next() } catch { throw error.with(url: url) }
        }
    }
}
