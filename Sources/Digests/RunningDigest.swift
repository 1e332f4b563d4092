/// A running digest by any of the algorithms, computed by OpenSSL's libcrypto.
///
/// Used by one thread at a time.
package final class RunningDigest {
    package let algorithm: DigestAlgorithm

    private let library: Libcrypto
    private let context: OpaquePointer

    package init(_ algorithm: DigestAlgorithm) throws(DigestUnavailable) {
        library = try Libcrypto.opened()
        guard let method = library.methodNamed(algorithm.libcryptoName), let context = library.makeContext() else {
            throw DigestUnavailable()
        }
        self.algorithm = algorithm
        self.context = context
        // A policy of the system may forbid an algorithm that the library has.
        guard library.start(context, method, nil) == 1 else { throw DigestUnavailable() }
    }

    deinit { library.freeContext(context) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        _ = library.update(context, base, bytes.count)
    }

    /// The digest of everything so far. The object is spent afterwards.
    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: algorithm.byteCount)
        _ = library.finish(context, &digest, nil)
        return digest
    }

    package static func digest(_ algorithm: DigestAlgorithm, of bytes: [UInt8]) throws(DigestUnavailable) -> [UInt8] {
        let running = try RunningDigest(algorithm)
        bytes.withUnsafeBytes { running.update($0) }
        return running.finish()
    }
}

extension DigestAlgorithm {
    var libcryptoName: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha224: "SHA224"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }
}
