import ConcurrencyPrimitives
import ImageCache

/// A channel of elements between two tasks. The sender waits for a slow receiver, so that memory use is bounded.
final class ChangeChannel<Element: Sendable>: Sendable {
    private struct State {
        var buffer: [Element] = []
        var ending: Result<Void, ImageCacheError>?
        var isClosed = false
        /// Fulfilled when the receiver has made room for the sender; ``sent`` when there is something to receive.
        var received: Promise<Void>?
        var sent: Promise<Void>?
    }

    private let state = Locked(State())
    private let limit: Int

    init(limit: Int = 8) { self.limit = limit }

    /// Sends an element when there is room for it. Elements are dropped after ``close()``.
    func send(_ element: Element) async {
        while true {
            let (room, wake) = state.withLock { state -> (Promise<Void>?, Promise<Void>?) in
                if state.isClosed { return (nil, nil) }
                if state.buffer.count >= limit {
                    let room = state.received ?? Promise()
                    state.received = room
                    return (room, nil)
                }
                state.buffer.append(element)
                defer { state.sent = nil }
                return (nil, state.sent)
            }
            wake?.fulfill(())
            guard let room, await room.value() != nil else { return }
        }
    }

    func finish(_ ending: Result<Void, ImageCacheError>) {
        let wake = state.withLock { state in
            if state.ending == nil { state.ending = ending }
            defer { state.sent = nil }
            return state.sent
        }
        wake?.fulfill(())
    }

    /// Closes the receiving side.
    func close() {
        let wake = state.withLock { state in
            state.isClosed = true
            state.buffer = []
            defer { state.received = nil }
            return state.received
        }
        wake?.fulfill(())
    }

    /// The next element; `nil` at the end. Throws the error that the sender finished with.
    func next() async throws -> Element? {
        while true {
            let (step, wake) = state.withLock { state -> (Step, Promise<Void>?) in
                if !state.buffer.isEmpty {
                    let element = state.buffer.removeFirst()
                    defer { state.received = nil }
                    return (.element(element), state.received)
                }
                if let ending = state.ending { return (.end(ending), nil) }
                let sent = state.sent ?? Promise()
                state.sent = sent
                return (.wait(sent), nil)
            }
            wake?.fulfill(())
            switch step {
            case .element(let element): return element
            case .end(let ending):
                try ending.get()
                return nil
            case .wait(let sent): guard await sent.value() != nil else { throw ImageCacheError.cancelled }
            }
        }
    }

    private enum Step {
        case element(Element)
        case end(Result<Void, ImageCacheError>)
        case wait(Promise<Void>)
    }
}
