import Digests

/// A request target, parsed into its signed text and its signature.
struct SignedTarget {
    /// The signed text: everything before the signature.
    let text: Substring
    /// Path and query without the signature's parameters.
    let target: Substring
    let keyID: Substring
    let expiry: Int64?
    let signature: [UInt8]

    static let signatureMark = "&imgcache-sig="
    private static let keyName = "imgcache-kid="
    private static let expiryMark = "&imgcache-exp="
    /// Twelve digits, sufficient until the year 33658.
    static let expiryRange: ClosedRange<Int64> = 0...999_999_999_999

    init(_ whole: String) throws(SignatureError) {
        guard UnsignedTarget(whole).hasOwnParameters else { throw .missing }
        guard let mark = whole[...].lastRange(of: Self.signatureMark) else { throw .malformed }
        guard let signature = Base64.decodeURL(whole.utf8[mark.upperBound...]),
            signature.count == DigestAlgorithm.sha256.byteCount
        else { throw .malformed }
        self.signature = signature
        text = whole[..<mark.lowerBound]

        var rest = text
        if let mark = rest.lastRange(of: Self.expiryMark) {
            let digits = rest[mark.upperBound...]
            guard let expiry = Self.seconds(digits) else { throw .malformed }
            self.expiry = expiry
            rest = rest[..<mark.lowerBound]
        } else {
            expiry = nil
        }

        guard let name = rest.lastRange(of: Self.keyName) else { throw .malformed }
        keyID = rest[name.upperBound...]
        guard !keyID.isEmpty, keyID.utf8.allSatisfy(\.isUnreservedInKeyID) else { throw .malformed }
        let before = rest[..<name.lowerBound]
        guard before.last == "?" || before.last == "&" else { throw .malformed }
        // `/a?` and `/a` are two targets: the first is written `/a?&imgcache-kid=…`.
        target = before.dropLast()
        guard before.last == "?" ? !target.contains("?") : target.contains("?") else { throw .malformed }
        // With two signatures, a reader might use the other one.
        guard !UnsignedTarget(target).hasOwnParameters else { throw .malformed }
    }

    /// Parses one to twelve digits without a leading zero: each time has one representation.
    private static func seconds(_ digits: Substring) -> Int64? {
        guard (1...12).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.utf8.first != 0x30 || digits.utf8.count == 1
        else { return nil }
        return Int64(digits)
    }
}
