/// HMAC (RFC 2104), computed by OpenSSL's libcrypto.
package enum HMAC {
    /// The authentication code of `message` under `key`, as long as a digest of the algorithm.
    package static func code(
        of message: some Sequence<UInt8>, key: [UInt8], algorithm: DigestAlgorithm = .sha256
    ) throws(DigestUnavailable) -> [UInt8] {
        let library = try Libcrypto.opened()
        guard let method = library.methodNamed(algorithm.libcryptoName) else { throw DigestUnavailable() }
        let message = ContiguousArray(message)
        var code = [UInt8](repeating: 0, count: algorithm.byteCount)
        var length = UInt32(code.count)
        // An empty array may have no address, and OpenSSL reads a missing key as "the key of the last call".
        let padded = key.isEmpty ? [0] : key
        let done = padded.withUnsafeBytes { keyBytes in
            message.withUnsafeBufferPointer { bytes in
                withUnsafePointer(to: UInt8(0)) { nothing -> Bool in
                    guard let base = keyBytes.baseAddress else { return false }
                    let start = bytes.baseAddress ?? nothing
                    return library.hmac(method, base, Int32(key.count), start, bytes.count, &code, &length) != nil
                }
            }
        }
        guard done else { throw DigestUnavailable() }
        return code
    }
}
