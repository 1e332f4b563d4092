import Units

/// The head and the bytes of a body that a transfer has received, and has yet to hand over to its sink.
///
/// A full block is handed over at once; less than that with the end of the body, or after a short time. The whole of a small body is thus one piece
/// of work for the sink, and wakes its task once.
struct Handover {
    /// The time for which less than a block is kept.
    private static let longestWait = Duration.milliseconds(5)

    private let calls: SinkCalls
    private var start: BodyStart?
    private var block: Block?
    /// Bytes of the body that have yet to be received, if its length is known.
    private var rest: Int64?
    private var since: MonotonicTime?

    init(to calls: SinkCalls) { self.calls = calls }

    /// A body begins. The sink of a long one has work to do, such as making a file, while its bytes come.
    mutating func begin(_ start: BodyStart, now: MonotonicTime) {
        self.start = start
        since = now
        rest =
            switch start.placement {
            case .whole(let length): length
            case .range(let range, _): range.upperBound - range.lowerBound
            case .alreadyComplete: 0
            }
        if let rest, rest > Block.size { handOver() }
    }

    /// Takes bytes of the body. Returns false if the sink has too much to take already.
    mutating func take(_ bytes: UnsafeRawBufferPointer, now: MonotonicTime) -> Bool {
        if block == nil, !calls.hasRoom() { return false }
        var left = bytes
        while !left.isEmpty {
            let block = block ?? calls.block(for: rest)
            let count = block.append(left)
            left = UnsafeRawBufferPointer(rebasing: left[count...])
            rest? -= Int64(count)
            self.block = block
            // The last bytes go along with the end.
            if block.isFull, rest != 0 || !left.isEmpty { handOver() }
        }
        if block != nil { since = since ?? now }
        return true
    }

    /// Hands over what there is, before further calls.
    mutating func handOver(before last: SinkCalls.Call? = nil) {
        var added: [SinkCalls.Call] = []
        if let start { added.append(.begin(start)) }
        if let block { added.append(.write(block)) }
        if let last { added.append(last) }
        (start, block, since) = (nil, nil, nil)
        if !added.isEmpty { calls.add(added) }
    }

    /// Hands over what has been kept for long enough.
    ///
    /// - Returns: The time at which there is something to be handed over; nil: there is nothing.
    mutating func handOver(at now: MonotonicTime) -> MonotonicTime? {
        guard let since else { return nil }
        let due = since + Self.longestWait
        // The loop waits for whole milliseconds.
        if due > now + .milliseconds(1) { return due }
        handOver()
        return nil
    }
}
