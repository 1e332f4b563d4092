import ConcurrencyPrimitives
import Digests
import HTTPTypes
import Transfer

/// The error of a received body without the expected properties.
enum BodyDefect: Error, Sendable {
    /// The body has another length, in bytes.
    case length(Int64, expected: Int64)
    /// A piece of the body has another digest.
    case piece(index: Int, Range<Int64>)
    /// The whole body has another digest.
    case digest(String, expected: String)
}

/// Passes a body on in verified pieces, so that damaged bytes never reach the store.
///
/// Without piece digests, it passes bytes on as they arrive and verifies the length.
///
/// `@unchecked Sendable`: used by its transfer, and between transfers by the caller that runs them. `BodySink` guarantees that calls do not
/// overlap.
final class CheckingSink: BodySink, @unchecked Sendable {
    /// The inner sink paused before the last piece of a body of unknown length, and no later write can pass the piece on.
    private struct LastPieceIsNotTaken: Error {}

    private let inner: any BodySink
    private let integrity: BodyIntegrity
    private let pieces: PieceDigests?
    /// Replaces the held partial's validator: the same bytes under another origin's validator.
    var basis: HeldPartial?
    /// Replaces the digests in the heads of whole bodies, so that the body is verified by this one; `nil` to leave them.
    var digest: Digest?
    /// The head that the current body began with.
    private(set) var head: ResponseHead?
    /// The length of the whole body in bytes, if it is known.
    private(set) var total: Int64?
    /// The number of times that the body began at byte 0.
    private(set) var beginnings = 0

    /// The offset of the next byte for the inner sink.
    private var position: Int64 = 0
    /// The bytes of the current piece from `position` on.
    private var waiting: [UInt8] = []
    /// True if `waiting` was verified and the inner sink has not accepted it yet.
    private var isVerified = false
    /// The number of bytes at the beginning of the next write that were processed before the inner sink paused.
    private var taken = 0
    /// True if the head announced the length, which was checked before the body was read.
    private var hasLength = false
    /// The bytes of the current piece before `position`, which an earlier transfer received.
    private var lead: [UInt8] = []
    /// The end of the current range.
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
            var head = head
            if let digest { DigestFields.set(digest, in: &head.fields) }
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
            // Bytes of the last piece that the inner sink does not have follow at the end.
            try inner.begin(head, waiting.isEmpty ? placement : .range(position..<total, total: total))
            (self.head, self.total) = (head, total)
        }
        basis = nil
    }

    /// The held bytes of the piece that contains an offset, up to the offset.
    private func begunPiece(at place: Int64) -> [UInt8] {
        guard let pieces, place % pieces.length != 0 else { return [] }
        return inner.heldBytes(place - place % pieces.length..<place) ?? []
    }

    /// Drops the bytes of the current piece that the inner sink does not have.
    private func drop() { (waiting, isVerified) = ([], false) }

    /// Returns true if all bytes of the current piece are held or will be received.
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

    /// Verifies the current piece, which is complete.
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

    /// Passes the verified piece on, if there is one. Returns false if the inner sink has paused.
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

    /// Bodies whose pieces are verified must be received in order.
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
                // Only the last piece of a body of unknown length is passed on here.
                guard try handOnVerified() else { throw LastPieceIsNotTaken() }
            } catch {
                // A bad piece does not affect the good ones before it.
                try inner.end(.cut)
                throw error
            }
            try inner.end(.complete)
        }
    }

    func canRestart() -> Bool { inner.canRestart() }

    // MARK: Between transfers

    /// Verifies the digest of a body without missing bytes, and discards the body if the digest is wrong.
    func verifyWhole() throws {
        do { try verifyBody() } catch let defect as BodyDefect {
            try end(.discarded)
            throw defect
        } catch {
            // Other errors are reported when the body is stored.
        }
    }

    /// The outcome of replacing a piece.
    enum Replacement {
        /// The piece was written.
        case done
        /// The new piece is also wrong, or is not the next one.
        case unsuitable
        /// The held part of the piece, from an earlier transfer, is wrong. All held bytes were discarded.
        case heldIsWrong
    }

    /// Writes a separately fetched piece, which continues the bytes that were passed on.
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
