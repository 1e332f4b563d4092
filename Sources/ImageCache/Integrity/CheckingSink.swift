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
/// Without piece digests it hands on what comes, and verifies the length.
///
/// `@unchecked Sendable`: used by its transfer, and between transfers by the one who runs them, as `BodySink` guarantees.
final class CheckingSink: BodySink, @unchecked Sendable {
    /// The reader of a body of unknown length has paused before the body's last piece, and there is no later write that would bring the piece.
    private struct LastPieceIsNotTaken: Error {}

    private let inner: any BodySink
    private let integrity: BodyIntegrity
    private let pieces: PieceDigests?
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
    /// Bytes from `position` on that belong to the piece under way.
    private var waiting: [UInt8] = []
    /// True if `waiting` is a piece that has been verified, and that the inner sink has yet to take.
    private var isVerified = false
    /// Bytes at the beginning of the next write that were taken before the inner sink paused.
    private var taken = 0
    /// True if the head said how long the body is, so that a body of another length is refused before it is read.
    private var hasLength = false
    /// Bytes of the same piece before `position`: the part of it that an earlier run has left behind.
    private var lead: [UInt8] = []
    /// The end of the range under way.
    private var end: Int64 = .max

    init(_ inner: any BodySink, _ integrity: BodyIntegrity) {
        self.inner = inner
        self.integrity = integrity
        pieces = integrity.checkedPieces
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
        taken = 0
        hasLength = true
        switch placement {
        case .whole(let length):
            try check(length)
            try inner.begin(head, placement)
            (self.head, total, position) = (head, length ?? integrity.size, 0)
            (lead, end) = ([], .max)
            drop()
            hasLength = length != nil
            beginnings += 1
        case .range(let range, let total):
            try check(total)
            if position + Int64(waiting.count) == range.lowerBound, !waiting.isEmpty {
                try inner.begin(head, .range(position..<range.upperBound, total: total))
            } else {
                drop()
                if position != range.lowerBound { lead = begunPiece(at: range.lowerBound) }
                position = range.lowerBound
                try inner.begin(head, placement)
            }
            end = range.upperBound == total ? .max : range.upperBound
            (self.head, self.total) = (head, total)
        case .alreadyComplete(let total):
            try check(total)
            try inner.begin(head, placement)
            (self.head, self.total) = (head, total)
        }
        basis = nil
    }

    /// The bytes that are held of the piece that goes on at a place.
    private func begunPiece(at place: Int64) -> [UInt8] {
        guard let pieces, place % pieces.length != 0 else { return [] }
        return inner.heldBytes(place - place % pieces.length..<place) ?? []
    }

    /// Drops the bytes of the piece under way that the inner sink does not have.
    private func drop() { (waiting, isVerified) = ([], false) }

    /// Returns true if all bytes of the piece under way come by here, or are held.
    private func canVerifyPiece(_ length: Int64) -> Bool {
        let start = position - Int64(lead.count)
        return start % length == 0 && start + length <= end
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
        var offset = min(taken, bytes.count)
        taken = 0
        while true {
            guard try handOnVerified() else {
                taken = offset
                return .pause
            }
            if offset == bytes.count { return .accepted }
            let pieceEnd = min((position / pieces.length + 1) * pieces.length, total ?? .max)
            let count = min(bytes.count - offset, Int(pieceEnd - position) - waiting.count)
            guard count > 0 else { throw BodyDefect.length(pieceEnd + 1, expected: pieceEnd) }
            let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
            if canVerifyPiece(pieces.length) {
                waiting.append(contentsOf: part)
                if position + Int64(waiting.count) == pieceEnd { try verifyPiece() }
            } else {
                lead = []
                guard case .accepted = try handOn(part) else {
                    taken = offset
                    return .pause
                }
            }
            offset += count
        }
    }

    private func handOn(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let verdict = try inner.write(bytes)
        guard case .accepted = verdict else { return verdict }
        position += Int64(bytes.count)
        return verdict
    }

    /// Verifies the piece under way, which is whole.
    private func verifyPiece() throws {
        guard let pieces, !waiting.isEmpty, !isVerified else { return }
        let start = position - Int64(lead.count)
        let index = Int(start / pieces.length)
        let pieceEnd = position + Int64(waiting.count)
        do { isVerified = try isPiece(index, lead + waiting) } catch {
            drop()
            throw error
        }
        guard isVerified else {
            drop()
            throw BodyDefect.piece(index: index, start..<pieceEnd)
        }
    }

    /// Hands on the piece that has been verified, if there is one. Returns false if the inner sink has paused.
    private func handOnVerified() throws -> Bool {
        guard isVerified else { return true }
        guard case .accepted = try waiting.withUnsafeBytes({ try handOn($0) }) else { return false }
        lead = []
        drop()
        return true
    }

    private func isPiece(_ index: Int, _ bytes: [UInt8]) throws -> Bool {
        guard let pieces else { return true }
        guard index < pieces.digests.count else { return false }
        return try RunningDigest.digest(pieces.algorithm, of: bytes) == pieces.digests[index]
    }

    /// Bodies that are verified while they arrive must come in order.
    var segmentUnit: Int64? { pieces == nil ? inner.segmentUnit : nil }

    var segmentLimit: Int64? { inner.segmentLimit }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws { try inner.write(bytes, at: offset) }

    func heldBytes(_ range: Range<Int64>) -> [UInt8]? { inner.heldBytes(range) }

    func verifyBody() throws { try inner.verifyBody() }

    func writeBatchComplete() { inner.writeBatchComplete() }

    func end(_ ending: AttemptEnding) throws {
        switch ending {
        case .cut: try inner.end(.cut)
        case .discarded:
            drop()
            (lead, position) = ([], 0)
            try inner.end(.discarded)
        case .complete:
            do {
                if !hasLength { try check(position + Int64(waiting.count)) }
                try verifyPiece()
                // Only the last piece of a body of unknown length is handed on here.
                guard try handOnVerified() else { throw LastPieceIsNotTaken() }
            } catch {
                // A bad piece leaves the good ones before it.
                try inner.end(.cut)
                throw error
            }
            try inner.end(.complete)
        }
    }

    func canRestart() -> Bool { inner.canRestart() }

    // MARK: Between transfers

    /// Verifies the digest of a body without missing bytes. Of one that is wrong nothing is left.
    func verifyWhole() throws {
        do { try verifyBody() } catch let defect as BodyDefect {
            try end(.discarded)
            throw defect
        } catch {
            // Other errors show when the body is stored.
        }
    }

    /// The outcome of putting a piece in its place that was fetched by itself.
    enum Replacement {
        /// It is in its place.
        case done
        /// It is wrong too, or belongs elsewhere.
        case unsuitable
        /// The part of it that an earlier run has left behind is wrong: all that is held is dropped.
        case heldIsWrong
    }

    /// Puts a piece in its place that was fetched by itself, behind what has been handed on.
    func replace(piece index: Int, _ range: Range<Int64>, by bytes: [UInt8]) throws -> Replacement {
        guard let head, let total, range.lowerBound == position - Int64(lead.count), try isPiece(index, bytes) else {
            return .unsuitable
        }
        drop()
        guard bytes.starts(with: lead) else {
            try end(.discarded)
            return .heldIsWrong
        }
        let rest = bytes.dropFirst(lead.count)
        try inner.begin(head, .range(position..<total, total: total))
        do {
            _ = try Array(rest).withUnsafeBytes { try handOn($0) }
        } catch {
            try? inner.end(.cut)
            throw error
        }
        lead = []
        try inner.end(.cut)
        return .done
    }
}
