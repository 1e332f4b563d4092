import DynamicLibraries

/// The functions of OpenSSL's libcrypto that digests need.
///
/// libcrypto is opened with `dlopen` for the first digest: a cache hit must not pay for loading it, and libcurl depends
/// on it anyway.
struct Libcrypto: Sendable {
    typealias New = @convention(c) () -> OpaquePointer?
    typealias Free = @convention(c) (OpaquePointer) -> Void
    typealias MethodNamed = @convention(c) (UnsafePointer<CChar>) -> OpaquePointer?
    typealias Start = @convention(c) (OpaquePointer, OpaquePointer?, OpaquePointer?) -> Int32
    typealias Update = @convention(c) (OpaquePointer, UnsafeRawPointer, Int) -> Int32
    typealias Finish =
        @convention(c) (OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>?) -> Int32
    typealias MAC =
        @convention(c) (
            OpaquePointer?, UnsafeRawPointer, Int32, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>,
            UnsafeMutablePointer<UInt32>
        ) -> UnsafeMutablePointer<UInt8>?

    let makeContext: New
    let freeContext: Free
    let methodNamed: MethodNamed
    let start: Start
    let update: Update
    let finish: Finish
    let hmac: MAC

    private static let library = DynamicLibrary("libcrypto.so.3", Libcrypto.init)

    static func opened() throws(DigestUnavailable) -> Libcrypto {
        guard let functions = library.functions() else { throw DigestUnavailable() }
        return functions
    }

    private init?(_ symbols: DynamicLibrarySymbols) {
        guard let makeContext = symbols.function("EVP_MD_CTX_new", as: New.self),
            let freeContext = symbols.function("EVP_MD_CTX_free", as: Free.self),
            let methodNamed = symbols.function("EVP_get_digestbyname", as: MethodNamed.self),
            let start = symbols.function("EVP_DigestInit_ex", as: Start.self),
            let update = symbols.function("EVP_DigestUpdate", as: Update.self),
            let finish = symbols.function("EVP_DigestFinal_ex", as: Finish.self),
            let hmac = symbols.function("HMAC", as: MAC.self)
        else { return nil }
        self.makeContext = makeContext
        self.freeContext = freeContext
        self.methodNamed = methodNamed
        self.start = start
        self.update = update
        self.finish = finish
        self.hmac = hmac
    }
}

/// An error: libcrypto, which computes digests, cannot be opened.
package struct DigestUnavailable: Error, CustomStringConvertible {
    package var description: String {
        "digests need libcrypto.so.3 (Debian package libssl3), which cannot be opened"
    }
}
