/// The most recent values of a series with one value for each step of time, in constant memory.
struct SeriesRing<Value: Sendable>: Sendable {
    /// Seconds.
    let step: Int
    let capacity: Int
    private var values: [Value] = []
    /// The index of the next value once `values` is full.
    private var place = 0
    /// The end of the newest step, in seconds since 1970; nil if there are no values.
    private(set) var end: Int?

    init(step: Int, capacity: Int) {
        self.step = step
        self.capacity = capacity
        values.reserveCapacity(capacity)
    }

    /// Records the value of all steps since the last call, up to `time`.
    ///
    /// Steps missed by the sampler get the same value, which is a rate averaged over them. If the clock is set back or far ahead, the
    /// series restarts.
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

    /// The values of the steps from `since` on, the oldest first; all if it is nil.
    ///
    /// - Returns: The start of the first one, and the values; nil for steps before the first record.
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
