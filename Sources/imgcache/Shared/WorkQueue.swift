import ConcurrencyPrimitives

/// A queue of elements that workers take in order while others are added.
final class WorkQueue<Element: Sendable>: Sendable {
    typealias Item = (element: Element, place: Int)

    private struct State {
        var elements: [Element]
        var next = 0
        /// The indices of elements that are taken again when there are no others.
        var postponed: [Int] = []
        var isComplete: Bool
        var isStopped = false
        var waiting: [CheckedContinuation<Item?, Never>] = []

        mutating func take() -> Item? {
            if isStopped { return nil }
            guard next < elements.count else {
                guard !postponed.isEmpty else { return nil }
                let place = postponed.removeFirst()
                return (elements[place], place)
            }
            defer { next += 1 }
            return (elements[next], next)
        }

        var isOver: Bool { isStopped || isComplete && next == elements.count && postponed.isEmpty }
    }

    private let state: Locked<State>

    /// - Parameter isComplete: True if no elements will be added.
    init(_ elements: [Element] = [], isComplete: Bool = true) {
        state = Locked(State(elements: elements, isComplete: isComplete))
    }

    /// The next element and its index, or `nil` if there are no more. A caller that postpones an element calls this again.
    func next() async -> Item? {
        await withCheckedContinuation { continuation in
            let item = state.withLock { state in
                let item = state.take()
                if item == nil { state.waiting.append(continuation) }
                return item
            }
            if let item { continuation.resume(returning: item) } else { endIfOver() }
        }
    }

    func add(_ element: Element) {
        let taken = state.withLock { state -> (CheckedContinuation<Item?, Never>, Item)? in
            state.elements.append(element)
            guard let waiter = state.waiting.first, let item = state.take() else { return nil }
            state.waiting.removeFirst()
            return (waiter, item)
        }
        if let taken { taken.0.resume(returning: taken.1) }
    }

    /// Puts a taken element back, behind all others.
    func postpone(_ place: Int) { state.withLock { $0.postponed.append(place) } }

    /// Marks the end of the input: no more elements will be added.
    func complete() {
        state.withLock { $0.isComplete = true }
        endIfOver()
    }

    /// Stops the queue: no caller gets another element.
    func stop() {
        state.withLock { $0.isStopped = true }
        endIfOver()
    }

    /// Wakes all waiting callers if there are no more elements. The end may come with a change, or with the last element that was put back.
    private func endIfOver() {
        let waiting = state.withLock { state in
            guard state.isOver else { return [CheckedContinuation<Item?, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume(returning: nil) }
    }

    /// The number of elements added so far, and a flag that is true if no more will be added.
    var count: (count: Int, isComplete: Bool) { state.withLock { ($0.elements.count, $0.isComplete) } }

    /// The number of callers that wait for an element.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// The element with an index.
    subscript(place: Int) -> Element { state.withLock { $0.elements[place] } }

    /// The elements with the given indices.
    subscript(places: Range<Int>) -> [Element] { state.withLock { Array($0.elements[places]) } }

    /// All elements added so far.
    var elements: [Element] { state.withLock { $0.elements } }
}
