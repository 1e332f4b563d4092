import Digests
import DiskStore
import HTTPCaching
import HTTPTypes

extension FileRequest {
    /// Returns true if a stored body has the size, and the digest or pieces, that the request expects. If the request requires a digest and gives
    /// no collision-resistant one, the body must have the digest that its response gives.
    func accepts(_ body: StoredBody, of response: StoredResponse) throws(ImageCacheError) -> Bool {
        if let size = integrity.size, size != body.size { return false }
        if let expected = expectedDigest {
            guard try body.has(expected) else { return false }
        } else if let pieces = integrity.checkedPieces, try !body.has(pieces) {
            return false
        }
        guard integrity.requiresDigest, !isIdentifiedByDigest else { return true }
        guard let expected = response.digest else { return false }
        return try body.has(expected)
    }

    /// True if the request expects nothing that must be verified.
    var acceptsAnyBody: Bool {
        integrity.size == nil && integrity.pieces == nil && expectedDigest == nil && !integrity.requiresDigest
    }
}

extension StoredBody {
    /// Returns true if the body has the digest. Reads the whole body.
    func has(_ digest: Digest) throws(ImageCacheError) -> Bool {
        try BodyDigest.digest(digest.algorithm, ofFile: descriptor, size: size) == digest.bytes
    }

    /// Returns true if the body has the pieces. Reads the body up to the first piece with another digest.
    func has(_ pieces: PieceDigests) throws(ImageCacheError) -> Bool {
        guard pieces.fits(size: size) else { return false }
        for (index, digest) in pieces.digests.enumerated() {
            let start = Int64(index) * pieces.length
            let range = start..<min(start + pieces.length, size)
            guard try BodyDigest.digest(pieces.algorithm, ofFile: descriptor, range) == digest else { return false }
        }
        return true
    }
}

extension StoredResponse {
    /// The digest of the representation in the response's fields (RFC 9530).
    var digest: Digest? { DigestFields.digest(in: fields, of: status) }

    /// The digest in the response's fields; `nil` also without libcrypto, because the request did not ask for verification.
    var verifiableDigest: Digest? { digest.flatMap { (try? RunningDigest($0.algorithm)) == nil ? nil : $0 } }
}

extension ImageCacheError {
    static func wrong(_ expected: Digest, actual: String, url: String) -> ImageCacheError {
        let name = expected.algorithm == .sha256 ? "SHA-256" : expected.algorithm.rawValue
        return ImageCacheError(
            .wrongBytes, url: url,
            message: "the body's \(name) is \(actual), not \(expected.hexadecimal); it was not stored")
    }

    init(_ defect: BodyDefect, url: String) {
        let message =
            switch defect {
            case .length(let length, let expected): "the body has \(length) bytes, not \(expected)"
            case .piece(let index, _): "piece \(index + 1) of the body is damaged"
            case .digest(let actual, let expected):
                "the body's digest is \(actual), not \(expected); it was not stored"
            }
        self.init(.wrongBytes, url: url, message: message, cause: defect)
    }
}
