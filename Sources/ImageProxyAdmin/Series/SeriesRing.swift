/// The newest values of a series with one value a step of time, in a room of fixed size.
struct SeriesRing<Value: Sendable>: Sendable {
    /// Seconds.
    let step: Int
    let capacity: Int
    private var values: [Value] = []
    /// The place of the next value once `values` is full.
    private var place = 0
    /// The beginning of the step after the newest one, in seconds since 1970; nil: nothing was noted yet.
    private(set) var end: Int?

    init(step: Int, capacity: Int) {
        self.step = step
        self.capacity = capacity
        values.reserveCapacity(capacity)
    }

    /// Notes the value of all steps that have passed since the last call, up to `time`.
    ///
    /// A step that nobody was awake for has the same value as the ones around it: a rate is what it was on average. After a
    /// step of the clock, back or far ahead, the series begins anew.
    mutating func note(_ value: Value, until time: Int) {
        let newEnd = time / step * step
        guard let end else {
            self.end = newEnd
            append(value)
            return
        }
        let steps = (newEnd - end) / step
        if steps == 0 { return }
        if steps < 0 || steps > capacity {
            values.removeAll(keepingCapacity: true)
            place = 0
            self.end = newEnd
            append(value)
            return
        }
        for _ in 0..<steps { append(value) }
        self.end = newEnd
    }

    private mutating func append(_ value: Value) {
        if values.count < capacity {
            values.append(value)
        } else {
            values[place] = value
            place = (place + 1) % capacity
        }
    }

    /// The values of the steps from `since` on, the oldest first; of all that the ring has room for when it is nil.
    ///
    /// - Returns: When the first of them begins, and the values; nil for steps before the first note.
    func slice(since: Int?, now: Int) -> (start: Int, values: [Value?]) {
        let end = end ?? now / step * step
        let first = end - capacity * step
        let start = min(max(since.map { $0 / step * step } ?? first, first), end)
        let wanted = (end - start) / step
        let known = min(wanted, values.count)
        var slice = [Value?](repeating: nil, count: wanted - known)
        slice.reserveCapacity(wanted)
        for index in (values.count - known)..<values.count { slice.append(values[(place + index) % values.count]) }
        return (start, slice)
    }
}
