public import Digests

/// The expected properties of a body, known before the request. They prove that the received body is the intended one.
///
///     var request = FileRequest("https://example.com/set/0001.tar")
///     request.integrity.digest = Digest(.sha256, hexadecimal: "0f4c…")
public struct BodyIntegrity: Sendable, Hashable {
    /// The body's digest. A body with another digest is not stored, and the request fails with ``ImageCacheError/Code/wrongBytes``.
    public var digest: Digest?

    /// The digests of the body's pieces (RFC 5854 section 4.1.3). A piece with another digest is fetched again separately, from another mirror
    /// first. Pieces of more than 32 MiB are not checked.
    public var pieces: PieceDigests?

    /// The body's length in bytes. A response of another length is refused before its body is read.
    public var size: Int64?

    /// True to ask the origin for a digest with `Want-Repr-Digest` (RFC 9530 section 4). A digest in a response's `Repr-Digest` or `Content-Digest`
    /// is verified in any case. Default false.
    public var asksForDigest = false

    /// True to refuse a body with ``ImageCacheError/Code/wrongBytes`` if neither the request nor the response gives its digest. The digest must be
    /// collision-resistant. Default false.
    public var requiresDigest = false

    public init() {}

    /// The longest piece, in bytes, that is checked. Pieces are held in memory.
    private static let longestPiece: Int64 = 32 << 20

    /// The digests of the pieces, if these are small enough to be checked.
    var checkedPieces: PieceDigests? { pieces.flatMap { $0.length <= Self.longestPiece ? $0 : nil } }
}

extension FileRequest {
    /// The expected digest of the body.
    package var expectedDigest: Digest? {
        integrity.digest ?? sha256.flatMap { Digest(.sha256, hexadecimal: $0) }
    }

    /// True if a body may be assembled from bytes of several origins, because its digest verifies the whole.
    var isIdentifiedByDigest: Bool { expectedDigest?.algorithm.isCollisionResistant == true }
}
