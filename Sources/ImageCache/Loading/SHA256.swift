import Glibc

/// A running SHA-256, computed by OpenSSL's libcrypto.
///
/// libcrypto is opened with `dlopen` when the first digest is asked for: a cache hit must not pay for loading it, and
/// libcurl brings it along anyway.
///
/// Used by one thread at a time.
final class SHA256 {
    static let byteCount = 32

    private let library: Library
    private let context: OpaquePointer

    /// Fails with `.digestUnavailable` when libcrypto cannot be opened.
    init() throws(ImageCacheError) {
        guard let library = Library.shared, let context = library.makeContext() else {
            throw ImageCacheError(
                .digestUnavailable,
                message: "SHA-256 needs libcrypto.so.3 (Debian package libssl3), which cannot be opened")
        }
        self.library = library
        self.context = context
        _ = library.start(context, library.sha256(), nil)
    }

    deinit { library.freeContext(context) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        _ = library.update(context, base, bytes.count)
    }

    /// The digest of everything so far. The object is spent afterwards.
    func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Self.byteCount)
        _ = library.finish(context, &digest, nil)
        return digest
    }

    /// The functions of libcrypto's EVP interface that a digest needs.
    private struct Library: Sendable {
        typealias New = @convention(c) () -> OpaquePointer?
        typealias Free = @convention(c) (OpaquePointer) -> Void
        typealias Algorithm = @convention(c) () -> OpaquePointer?
        typealias Start = @convention(c) (OpaquePointer, OpaquePointer?, OpaquePointer?) -> Int32
        typealias Update = @convention(c) (OpaquePointer, UnsafeRawPointer, Int) -> Int32
        typealias Finish =
            @convention(c) (OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>?) -> Int32

        let makeContext: New
        let freeContext: Free
        let sha256: Algorithm
        let start: Start
        let update: Update
        let finish: Finish

        static let shared = Library()

        private init?() {
            guard let handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL) else { return nil }
            func symbol<Function>(_ name: String, as _: Function.Type) -> Function? {
                dlsym(handle, name).map { unsafeBitCast($0, to: Function.self) }
            }
            guard let makeContext = symbol("EVP_MD_CTX_new", as: New.self),
                let freeContext = symbol("EVP_MD_CTX_free", as: Free.self),
                let sha256 = symbol("EVP_sha256", as: Algorithm.self),
                let start = symbol("EVP_DigestInit_ex", as: Start.self),
                let update = symbol("EVP_DigestUpdate", as: Update.self),
                let finish = symbol("EVP_DigestFinal_ex", as: Finish.self)
            else { return nil }
            self.makeContext = makeContext
            self.freeContext = freeContext
            self.sha256 = sha256
            self.start = start
            self.update = update
            self.finish = finish
        }
    }
}

extension SHA256 {
    static func digest(of bytes: [UInt8]) throws(ImageCacheError) -> [UInt8] {
        let hash = try SHA256()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.finish()
    }

    /// The digest of the first `size` bytes of an open file, read with `pread`.
    static func digest(ofFile descriptor: Int32, size: Int64) throws(ImageCacheError) -> [UInt8] {
        let hash = try SHA256()
        let chunk = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            let count = pread(descriptor, buffer.baseAddress, min(chunk, Int(size - offset)), off_t(offset))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                throw ImageCacheError(
                    .store(.io), message: "reading the body back for its SHA-256 failed at byte \(offset)")
            }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return hash.finish()
    }
}
