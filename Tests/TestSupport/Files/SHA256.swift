import Glibc

/// SHA-256 by OpenSSL's libcrypto: a second implementation to hold the product's against, and fast in a debug build.
public enum SHA256 {
    private typealias OneShot =
        @convention(c) (UnsafeRawPointer?, Int, UnsafeMutablePointer<UInt8>?) ->
        UnsafeMutablePointer<UInt8>?

    private static let oneShot: OneShot = {
        guard let library = dlopen("libcrypto.so.3", RTLD_NOW) ?? dlopen("libcrypto.so", RTLD_NOW),
            let symbol = dlsym(library, "SHA256")
        else { preconditionFailure("the tests need OpenSSL's libcrypto (apt install libssl3)") }
        return unsafeBitCast(symbol, to: OneShot.self)
    }()

    /// The digest of these bytes, in lower-case hexadecimal.
    public static func hex(of bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { hex(of: $0) }
    }

    /// The digest of a file's bytes, or nil when it cannot be read.
    public static func hex(ofFile path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        guard size > 0 else { return size == 0 ? hex(of: []) : nil }
        guard let address = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), address != MAP_FAILED else {
            return nil
        }
        defer { munmap(address, size) }
        return hex(of: UnsafeRawBufferPointer(start: address, count: size))
    }

    private static func hex(of bytes: UnsafeRawBufferPointer) -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        _ = oneShot(bytes.baseAddress, bytes.count, &digest)
        let digits = Array("0123456789abcdef")
        return String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
