import Glibc

/// FIPS 180-4 by OpenSSL's libcrypto, to compare pixels with the hashes that the corpus states.
enum SHA256 {
    private typealias Function =
        @convention(c) (UnsafeRawPointer?, Int, UnsafeMutablePointer<UInt8>?) -> UnsafeMutablePointer<UInt8>?

    private static let function: Function? = {
        let library = dlopen("libcrypto.so.3", RTLD_NOW) ?? dlopen("libcrypto.so", RTLD_NOW)
        guard let library, let symbol = dlsym(library, "SHA256") else { return nil }
        return unsafeBitCast(symbol, to: Function.self)
    }()

    /// nil where there is no libcrypto.
    static func hex(_ message: UnsafeRawBufferPointer) -> String? {
        guard let function else { return nil }
        var digest = [UInt8](repeating: 0, count: 32)
        _ = function(message.baseAddress, message.count, &digest)
        return digest.map { (UInt16($0) + 0x100) }.map { String($0, radix: 16).dropFirst() }.joined()
    }
}
