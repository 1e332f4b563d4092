import Digests
import DiskStore
import HTTPCaching
import HTTPTypes

extension Fetcher {
    /// Returns true if a stored body has the size and digest that the request expects, and a verified digest if it requires one.
    func hasDigest(
        _ body: StoredBody, _ response: StoredResponse, for request: FileRequest
    ) throws(ImageCacheError) -> Bool {
        if let size = request.integrity.size, size != body.size { return false }
        if let expected = request.expectedDigest, try !body.has(expected) { return false }
        guard request.integrity.requiresDigest, !request.isIdentifiedByDigest else { return true }
        guard let expected = response.digest else { return false }
        return try body.has(expected)
    }
}

extension StoredBody {
    /// Reads the body.
    func has(_ digest: Digest) throws(ImageCacheError) -> Bool {
        try BodyDigest.digest(digest.algorithm, ofFile: descriptor, size: size) == digest.bytes
    }
}

extension StoredResponse {
    /// The digest that the response gives of its representation (RFC 9530).
    var digest: Digest? { DigestFields.digest(in: fields, of: status) }

    /// The same; `nil` without libcrypto: nobody asked for it to be verified.
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
