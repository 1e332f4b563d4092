/// An incremental SHA-256 (FIPS 180-4), computed by OpenSSL's libcrypto.
///
/// Used by one thread at a time.
public final class SHA256 {
    public static let byteCount = 32

    private let library: Libcrypto
    private let context: OpaquePointer

    public init() throws(DigestUnavailable) {
        library = try Libcrypto.opened()
        guard let context = library.makeContext() else { throw DigestUnavailable() }
        self.context = context
        _ = library.start(context, library.sha256(), nil)
    }

    deinit { library.freeContext(context) }

    public func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        _ = library.update(context, base, bytes.count)
    }

    /// The digest of all bytes so far. The object cannot be used afterwards.
    public func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Self.byteCount)
        _ = library.finish(context, &digest, nil)
        return digest
    }

    public static func digest(of bytes: [UInt8]) throws(DigestUnavailable) -> [UInt8] {
        let hash = try SHA256()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.finish()
    }
}
