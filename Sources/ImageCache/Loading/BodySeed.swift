import ConcurrencyPrimitives
import Digests

/// Bytes of a body that files have. They are looked for when the origin is asked, and may be wrong: the digest of the whole decides.
package protocol BodySeed: AnyObject, Sendable {
    /// The length of the body in bytes.
    var total: Int64 { get }
    /// The ranges that no file has, in order. Looks for the others at the first call.
    var missing: [Range<Int64>] { get }

    /// Reads a range without missing bytes into a buffer of its length. Returns false if a file has changed.
    func read(_ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer) -> Bool
}

/// The pieces of a body that files have at the places where they belong, by their digests.
package final class SeededPieces: BodySeed {
    private let pieces: PieceDigests
    package let total: Int64
    private let seeds: [SeedFile]
    /// The file that has each piece; `nil` for pieces that none has.
    private let found = Locked<[SeedFile?]?>(nil)

    /// `nil` if the request does not have the digests of the pieces, the length and a collision-resistant digest of the whole, or if no file can be
    /// read.
    package init?(for request: FileRequest, in paths: [String]) {
        guard request.isIdentifiedByDigest, let pieces = request.integrity.checkedPieces,
            let total = request.integrity.size, pieces.fits(size: total)
        else { return nil }
        (self.pieces, self.total) = (pieces, total)
        seeds = paths.compactMap { SeedFile($0) }
        if seeds.isEmpty { return nil }
    }

    private var files: [SeedFile?] {
        found.withLock { found in
            let files =
                found
                ?? pieces.digests.enumerated().map { index, digest in
                    seeds.first { $0.has(digest, pieces.algorithm, at: range(ofPiece: index)) }
                }
            found = files
            return files
        }
    }

    private func range(ofPiece index: Int) -> Range<Int64> {
        let start = Int64(index) * pieces.length
        return start..<min(start + pieces.length, total)
    }

    package var missing: [Range<Int64>] {
        let files = files
        return Array(RangeSet(files.indices.filter { files[$0] == nil }.map { range(ofPiece: $0) }).ranges)
    }

    package func read(_ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let files = files
        var position = range.lowerBound
        while position < range.upperBound {
            let index = Int(position / pieces.length)
            guard let file = files[index] else { return false }
            let end = min(range.upperBound, Int64(index + 1) * pieces.length)
            let part = Int(position - range.lowerBound)..<Int(end - range.lowerBound)
            guard file.read(at: position, into: .init(rebasing: buffer[part])) == part.count else { return false }
            position = end
        }
        return true
    }
}
