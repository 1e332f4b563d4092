import HTTPSemantics

/// Numbers of seconds in header fields (RFC 9111 section 1.2.2).
enum DeltaSeconds {
    /// The greatest value; larger numbers count as this one.
    static var greatest: Int { 2_147_483_648 }

    /// The value of one or more digits, saturating at ``greatest``; `nil` for anything else.
    static func parse(_ bytes: ByteSlice) -> Int? {
        Int64(saturatingDigits: bytes).map { min(Int(truncatingIfNeeded: $0), greatest) }
    }
}
