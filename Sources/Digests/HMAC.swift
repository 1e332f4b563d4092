/// HMAC with SHA-256 (RFC 2104), computed by OpenSSL's libcrypto.
package enum HMACSHA256 {
    package static let byteCount = DigestAlgorithm.sha256.byteCount

    /// The 32-byte authentication code of `message` under `key`.
    package static func code(of message: some Sequence<UInt8>, key: [UInt8]) throws(DigestUnavailable) -> [UInt8] {
        let library = try Libcrypto.opened()
        let message = ContiguousArray(message)
        var code = [UInt8](repeating: 0, count: byteCount)
        var length = UInt32(byteCount)
        // An empty array may have no address, and OpenSSL reads a missing key as "the key of the last call".
        let padded = key.isEmpty ? [0] : key
        let done = padded.withUnsafeBytes { keyBytes in
            message.withUnsafeBufferPointer { bytes in
                withUnsafePointer(to: UInt8(0)) { nothing -> Bool in
                    guard let base = keyBytes.baseAddress else { return false }
                    let start = bytes.baseAddress ?? nothing
                    return library.hmac(
                        library.sha256(), base, Int32(key.count), start, bytes.count, &code, &length) != nil
                }
            }
        }
        guard done else { throw DigestUnavailable() }
        return code
    }
}
