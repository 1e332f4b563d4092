import CacheTestSupport
import ConcurrencyPrimitives
import HTTPTypes
import Transfer

/// A sink that keeps a body in memory, and knows which bytes came twice.
final class MemorySink: BodySink {
    fileprivate struct State {
        var head: ResponseHead?
        var bytes: [UInt8] = []
        /// The ranges that have come, in order, disjoint.
        var have: [Range<Int64>] = []
        var position: Int64 = 0
        var streamBytes: Int64 = 0
        var twice: Int64 = 0
        var beginnings = 0
        var calls = 0
        var failsAfter: Int64 = .max
        var endings: [AttemptEnding] = []
    }

    struct Full: Error {}

    private let state = Locked(State())
    let segmentUnit: Int64? = 256 << 10
    let segmentLimit: Int64? = nil

    /// - Parameter capacity: The bytes after which a write fails.
    init(capacity: Int64 = .max) { state.withLock { $0.failsAfter = capacity } }

    var body: Body { Body(state.withLock { $0.bytes }) }
    /// The bytes that the stream has brought: time for a planner that must not depend on the machine.
    var streamBytes: Int64 { state.withLock { $0.streamBytes } }
    var isWhole: Bool { state.withLock { $0.have == [0..<Int64($0.bytes.count)] } }
    /// The number of bytes of the present body that came more than once.
    var twice: Int64 { state.withLock { $0.twice } }
    var beginnings: Int { state.withLock { $0.beginnings } }
    var calls: Int { state.withLock { $0.calls } }
    var endings: [AttemptEnding] { state.withLock { $0.endings } }

    func held() -> HeldPartial? {
        state.withLock { state in
            guard let head = state.head, let validator = head.resumeValidator, !state.have.isEmpty else { return nil }
            var missing: [Range<Int64>] = []
            var position: Int64 = 0
            for range in state.have + [Int64(state.bytes.count)..<Int64(state.bytes.count)] {
                if position < range.lowerBound { missing.append(position..<range.lowerBound) }
                position = range.upperBound
            }
            return HeldPartial(
                validator: validator, total: Int64(state.bytes.count), missing: missing, url: head.finalURL)
        }
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        state.withLock { state in
            state.calls += 1
            switch placement {
            case .whole(let length):
                state.head = head
                state.bytes = Array(repeating: 0, count: Int(length ?? 0))
                (state.have, state.position, state.twice) = ([], 0, 0)
                state.beginnings += 1
            case .range(let range, _): state.position = range.lowerBound
            case .alreadyComplete: break
            }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        try state.withLock { state throws in
            try state.take(bytes, at: state.position)
            state.position += Int64(bytes.count)
            state.streamBytes += Int64(bytes.count)
        }
        return .accepted
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
        try state.withLock { state throws in try state.take(bytes, at: offset) }
    }

    func end(_ ending: AttemptEnding) throws {
        state.withLock { state in
            state.endings.append(ending)
            if ending == .discarded { (state.head, state.have) = (nil, []) }
        }
    }
}

extension MemorySink.State {
    fileprivate mutating func take(_ piece: UnsafeRawBufferPointer, at offset: Int64) throws {
        calls += 1
        let range = offset..<offset + Int64(piece.count)
        guard !range.isEmpty else { return }
        failsAfter -= Int64(range.count)
        guard failsAfter >= 0 else { throw MemorySink.Full() }
        bytes.replaceSubrange(Int(range.lowerBound)..<Int(range.upperBound), with: piece)
        for other in have where other.overlaps(range) { twice += Int64(other.clamped(to: range).count) }
        let touching = have.filter { $0.upperBound >= range.lowerBound && $0.lowerBound <= range.upperBound }
        let joined = touching.reduce(range) {
            min($0.lowerBound, $1.lowerBound)..<max($0.upperBound, $1.upperBound)
        }
        have.removeAll { $0.upperBound >= range.lowerBound && $0.lowerBound <= range.upperBound }
        have.append(joined)
        have.sort { $0.lowerBound < $1.lowerBound }
    }
}
