import Digests
import DiskStore

/// Digests of bodies, which fail with an `ImageCacheError`.
enum BodyDigest {
    /// Fails with `.digestUnavailable` if libcrypto cannot be opened.
    static func running(_ algorithm: DigestAlgorithm) throws(ImageCacheError) -> RunningDigest {
        do throws(DigestUnavailable) { return try RunningDigest(algorithm) } catch { throw ImageCacheError(error) }
    }

    static func digest(of bytes: [UInt8]) throws(ImageCacheError) -> [UInt8] {
        do throws(DigestUnavailable) { return try RunningDigest.digest(.sha256, of: bytes) } catch {
            throw ImageCacheError(error)
        }
    }

    /// The digest of the first `size` bytes of an open file, read with `pread`.
    static func digest(
        _ algorithm: DigestAlgorithm, ofFile descriptor: Int32, size: Int64
    ) throws(ImageCacheError) -> [UInt8] {
        try digest(algorithm, ofFile: descriptor, 0..<size)
    }

    /// The digest of a range of an open file, read with `pread`.
    static func digest(
        _ algorithm: DigestAlgorithm, ofFile descriptor: Int32, _ range: Range<Int64>
    ) throws(ImageCacheError) -> [UInt8] {
        let hash = try running(algorithm)
        let chunk = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = min(chunk, Int(range.upperBound - offset))
            let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            guard let count = readBytes(of: descriptor, into: bytes, at: offset), count > 0 else {
                throw ImageCacheError(
                    .store(.io), message: "reading the body back for its digest failed at byte \(offset)")
            }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return hash.finish()
    }
}

extension ImageCacheError {
    init(_ error: DigestUnavailable) {
        self.init(.digestUnavailable, message: error.description, cause: error)
    }
}
