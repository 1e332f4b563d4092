import Units

/// The received head and bytes of a body that a transfer has not yet passed to its sink.
///
/// A block ends at a multiple of its size in the body, as the blocks of the store do. It is passed on immediately when it has ended, and otherwise
/// with the end of the body or after a short time. A small body is thus passed on as a whole, and wakes its task once.
struct Handover {
    /// The longest time for which an incomplete block is kept.
    private static let longestWait = Duration.milliseconds(5)

    private let calls: SinkCalls
    private var start: BodyStart?
    private var block: Block?
    /// The offset of the next byte in the body.
    private var position: Int64 = 0
    /// The end of the body or the range; `nil` if it is not known.
    private var end: Int64?
    private var since: MonotonicTime?

    init(to calls: SinkCalls) { self.calls = calls }

    /// Begins a body. The sink of a long one can create its file while the bytes arrive.
    mutating func begin(_ start: BodyStart, now: MonotonicTime) {
        self.start = start
        since = now
        switch start.placement {
        case .whole(let length): (position, end) = (0, length)
        case .range(let range, _): (position, end) = (range.lowerBound, range.upperBound)
        case .alreadyComplete(let total): (position, end) = (total, total)
        }
        if let end, end - position > Block.size { handOver() }
    }

    /// An empty block for the next bytes.
    private var nextBlock: Block {
        let room = Block.size - position % Block.size
        let rest = end.map { $0 - position } ?? room
        return Block(capacity: Int(rest > 0 ? min(rest, room) : room))
    }

    /// Accepts bytes of the body. Returns false if too many bytes wait for the sink.
    mutating func take(_ bytes: UnsafeRawBufferPointer, now: MonotonicTime) -> Bool {
        if block == nil, !calls.hasRoom() { return false }
        var left = bytes
        while !left.isEmpty {
            let block = block ?? nextBlock
            let count = block.append(left)
            left = UnsafeRawBufferPointer(rebasing: left[count...])
            position += Int64(count)
            self.block = block
            // The last bytes are passed on together with the end.
            if block.isFull, position != end || !left.isEmpty { handOver() }
        }
        if block != nil { since = since ?? now }
        return true
    }

    /// Passes on what has arrived, and then another call.
    mutating func handOver(before last: SinkCalls.Call? = nil) {
        calls.add(start.map { .begin($0) }, block.map { .write($0) }, last)
        (start, block, since) = (nil, nil, nil)
    }

    /// Passes on what has waited for long enough.
    ///
    /// - Returns: The time at which something is to be passed on; `nil` if nothing waits.
    mutating func handOver(at now: MonotonicTime) -> MonotonicTime? {
        guard let since else { return nil }
        let due = since + Self.longestWait
        // The loop waits for whole milliseconds.
        if due > now + .milliseconds(1) { return due }
        handOver()
        return nil
    }
}
