import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import Transfer

/// The blocks that a transfer passes on to its sink. There is no clock, thread or socket.
@Suite(.timeLimit) struct HandoverTests {
    private static let size = Block.size

    /// The time `milliseconds` after the beginning.
    private func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .milliseconds(milliseconds)
    }

    private func start(_ placement: BodyPlacement) -> BodyStart {
        let head = ResponseHead(
            status: .ok, fields: [:], finalURL: "http://a.example/", requestTime: .distantPast,
            responseTime: .distantPast)
        return BodyStart(head: head, placement: placement, resumedFrom: 0, total: nil)
    }

    /// Receives a body in pieces, each of which takes a number of milliseconds, and returns the bytes of each block.
    private func blocks(
        of body: Range<Int64>, _ placement: BodyPlacement, inPiecesOf size: Int, each milliseconds: Int64
    ) async -> [[UInt8]] {
        let calls = SinkCalls(priority: .normal)
        var handover = Handover(to: calls)
        handover.begin(start(placement), now: time(0))
        var blocks: [[UInt8]] = []
        var (position, now) = (body.lowerBound, Int64(0))
        func take(_ calls: [SinkCalls.Call]) -> Bool {
            for case .write(let block) in calls { blocks.append(Array(block.bytes)) }
            return calls.contains { if case .finish = $0 { true } else { false } }
        }
        while position < body.upperBound {
            let end = min(position + Int64(size), body.upperBound)
            let piece = (position..<end).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            let isTaken = piece.withUnsafeBytes { handover.take($0, now: time(now)) }
            #expect(isTaken)
            (position, now) = (end, now + milliseconds)
            _ = handover.handOver(at: time(now))
            if calls.isBehind {
                let waiting = await calls.next()
                for case .write(let block) in waiting { _ = calls.took(block) }
                _ = take(waiting)
            }
        }
        let failure = TransferError(.cancelled, url: "", "the end")
        handover.handOver(before: .finish(.failure(failure)))
        while await !take(calls.next()) {}
        return blocks
    }

    @Test(arguments: [
        BodyPlacement.whole(length: 3 * size + 1000), .whole(length: nil),
        .range(100..<3 * size + 1000, total: 4 * size),
    ])
    func `blocks end at the store's boundaries, even if some are passed on early`(_ placement: BodyPlacement) async {
        var start: Int64 = 0
        if case .range(let range, _) = placement { start = range.lowerBound }
        let body = start..<3 * Self.size + 1000
        // A piece is smaller than a block, and a block takes longer than it may be kept.
        let blocks = await blocks(of: body, placement, inPiecesOf: 100_000, each: 4)
        #expect(blocks.joined().elementsEqual(body.map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }))
        var position = body.lowerBound
        for block in blocks {
            let next = (position / Self.size + 1) * Self.size
            position += Int64(block.count)
            #expect(position <= next)
        }
        #expect(blocks.count > 4)
    }

    @Test func `a small body is one block, with the memory that it needs`() async {
        let blocks = await blocks(of: 0..<20_000, .whole(length: 20_000), inPiecesOf: 7000, each: 0)
        #expect(blocks.map(\.count) == [20_000])
    }
}
