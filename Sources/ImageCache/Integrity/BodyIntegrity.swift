public import Digests

/// The properties that prove a body to be the one that is meant, known before it is asked for.
///
///     var request = FileRequest("https://example.com/set/0001.tar")
///     request.integrity.digest = Digest(.sha256, hexadecimal: "0f4c…")
public struct BodyIntegrity: Sendable, Hashable {
    /// The body's digest. A body with another one is not stored, and the request fails with
    /// ``ImageCacheError/Code/wrongBytes``.
    public var digest: Digest?

    /// The digests of the body's pieces (RFC 5854 section 4.1.3). A piece with another one is fetched again, alone, from another
    /// mirror first. Pieces of more than 32 MiB are not checked.
    public var pieces: PieceDigests?

    /// The body's length in bytes. A response of another length is refused before its body is read.
    public var size: Int64?

    /// True if the origin is asked for a digest by `Want-Repr-Digest` (RFC 9530 section 4). A digest in a response's `Repr-Digest`
    /// or `Content-Digest` is verified in any case. Default false.
    public var asksForDigest = false

    /// True if a body without a digest, from here or from its response, is refused with ``ImageCacheError/Code/wrongBytes``. The
    /// digest must be collision-resistant. Default false.
    public var requiresDigest = false

    public init() {}

    /// Larger pieces would have to be held in memory.
    private static let longestPiece: Int64 = 32 << 20

    /// The pieces, if they are small enough to be checked.
    var checkedPieces: PieceDigests? { pieces.flatMap { $0.length <= Self.longestPiece ? $0 : nil } }
}

extension FileRequest {
    /// The digest that the body must have.
    package var expectedDigest: Digest? {
        integrity.digest ?? sha256.flatMap { Digest(.sha256, hexadecimal: $0) }
    }

    /// True if a body may be joined from the bytes of several origins, because its digest verifies the whole.
    var isIdentifiedByDigest: Bool { expectedDigest?.algorithm.isCollisionResistant == true }
}
