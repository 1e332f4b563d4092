import ConcurrencyPrimitives
import Digests
import HTTPTypes
import Transfer

/// The error of a body that is not what was announced, found while it arrived.
enum BodyDefect: Error, Sendable {
    /// Its length is another one.
    case length(Int64, expected: Int64)
    /// A piece of it has another digest.
    case piece(index: Int, Range<Int64>)
    /// All of it has another digest.
    case digest(String, expected: String)
}

/// Hands a body on in pieces that have been verified: what is damaged never reaches the store.
///
/// Without piece digests it hands on what comes, and verifies the length and, where several origins may have to do with it, the digest of
/// the whole.
///
/// `@unchecked Sendable`: used by its transfer, and between transfers by the one who runs them, as `BodySink` guarantees.
final class CheckingSink: BodySink, @unchecked Sendable {
    /// Larger pieces would have to be held in memory.
    private static let longestPiece: Int64 = 32 << 20

    private let inner: any BodySink
    private let integrity: BodyIntegrity
    private let pieces: PieceDigests?
    private let digest: Digest?
    /// In place of what is held: the same bytes under another origin's validator.
    var basis: HeldPartial?
    /// The head that the body under way began with.
    private(set) var head: ResponseHead?
    /// The length of the whole body, when it is known.
    private(set) var total: Int64?
    /// The number of times that a body began at its first byte.
    private(set) var beginnings = 0

    /// The offset of the next byte that goes to the sink behind this one.
    private var position: Int64 = 0
    /// Bytes from `position` on that belong to a piece that is not whole yet.
    private var waiting: [UInt8] = []
    /// The digest of the first `position` bytes; nil when some of them did not come by here.
    private var running: RunningDigest?

    /// - Parameter digest: Verified at the end, if all bytes have come by here.
    init(_ inner: any BodySink, _ integrity: BodyIntegrity, digest: Digest?) {
        self.inner = inner
        self.integrity = integrity
        self.digest = digest
        pieces = integrity.pieces.flatMap { $0.length <= Self.longestPiece ? $0 : nil }
    }

    func attach(_ transfer: any TransferControl) { inner.attach(transfer) }

    func held() -> HeldPartial? {
        guard let held = inner.held() else { return nil }
        var result = basis ?? held
        result.missing = held.missing
        guard !waiting.isEmpty, let first = result.missing.first, first.lowerBound == position else { return result }
        let start = position + Int64(waiting.count)
        result.missing[0] = start..<max(start, first.upperBound)
        if result.missing[0].isEmpty { result.missing.removeFirst() }
        return result
    }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        switch placement {
        case .whole(let length):
            try check(length)
            try inner.begin(head, placement)
            (self.head, total, position, waiting) = (head, length ?? integrity.size, 0, [])
            beginnings += 1
            running = try digest.map { try RunningDigest($0.algorithm) }
        case .range(let range, let total):
            try check(total)
            if position + Int64(waiting.count) == range.lowerBound, !waiting.isEmpty {
                try inner.begin(head, .range(position..<range.upperBound, total: total))
            } else {
                waiting = []
                if position != range.lowerBound { running = nil }
                position = range.lowerBound
                try inner.begin(head, placement)
            }
            (self.head, self.total) = (head, total)
        case .alreadyComplete(let total):
            try check(total)
            try inner.begin(head, placement)
            (self.head, self.total) = (head, total)
        }
        basis = nil
    }

    private func check(_ length: Int64?) throws {
        guard let length else { return }
        if let size = integrity.size, size != length { throw BodyDefect.length(length, expected: size) }
        if let pieces, !pieces.fits(size: length) {
            throw BodyDefect.length(length, expected: integrity.size ?? pieces.length * Int64(pieces.digests.count))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        guard let pieces else { return try handOn(bytes) }
        var rest = bytes
        while !rest.isEmpty {
            let end = (position / pieces.length + 1) * pieces.length
            // A piece that an earlier run began cannot be verified: its first bytes are not available here.
            let isWhole = position % pieces.length == 0
            let count = min(rest.count, Int(end - position) - waiting.count)
            let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            guard isWhole else {
                _ = try handOn(part)
                continue
            }
            waiting.append(contentsOf: part)
            if position + Int64(waiting.count) == end { try handOnPiece() }
        }
        return .accepted
    }

    /// A file's sink takes whatever comes.
    private func handOn(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let verdict = try inner.write(bytes)
        guard case .accepted = verdict else { return verdict }
        running?.update(bytes)
        position += Int64(bytes.count)
        return verdict
    }

    private func handOnPiece() throws {
        guard let pieces, !waiting.isEmpty else { return }
        let index = Int(position / pieces.length)
        let isRight = try isPiece(index, waiting)
        let piece = waiting
        waiting = []
        guard isRight else {
            throw BodyDefect.piece(index: index, position..<position + Int64(piece.count))
        }
        _ = try piece.withUnsafeBytes { try handOn($0) }
    }

    private func isPiece(_ index: Int, _ bytes: [UInt8]) throws -> Bool {
        guard let pieces else { return true }
        guard index < pieces.digests.count else { return false }
        return try RunningDigest.digest(pieces.algorithm, of: bytes) == pieces.digests[index]
    }

    func writeBatchComplete() { inner.writeBatchComplete() }

    func end(_ ending: AttemptEnding) throws {
        switch ending {
        case .cut: try inner.end(.cut)
        case .discarded:
            (waiting, running, position) = ([], nil, 0)
            try inner.end(.discarded)
        case .complete:
            do { try verifyEnd() } catch {
                // A bad piece leaves the good ones before it; of a body that is wrong as a whole nothing is left.
                if case .digest = error as? BodyDefect { try inner.end(.discarded) } else { try inner.end(.cut) }
                throw error
            }
            try inner.end(.complete)
        }
    }

    private func verifyEnd() throws {
        try handOnPiece()
        guard let running, let digest, total.map({ $0 == position }) ?? true else { return }
        self.running = nil
        let actual = running.finish()
        guard actual == digest.bytes else {
            throw BodyDefect.digest(
                Digest(digest.algorithm, actual)?.hexadecimal ?? "", expected: digest.hexadecimal)
        }
    }

    func canRestart() -> Bool { inner.canRestart() }

    // MARK: Between transfers

    /// Puts a piece in its place that was fetched by itself, behind what has been handed on.
    ///
    /// - Returns: Whether it is the right one.
    func replace(piece index: Int, _ range: Range<Int64>, by bytes: [UInt8]) throws -> Bool {
        guard let head, let total, range.lowerBound == position, try isPiece(index, bytes) else { return false }
        waiting = []
        try inner.begin(head, .range(range.lowerBound..<total, total: total))
        do {
            _ = try bytes.withUnsafeBytes { try handOn($0) }
        } catch {
            try? inner.end(.cut)
            throw error
        }
        try inner.end(.cut)
        return true
    }
}
