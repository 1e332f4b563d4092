extension String {
    /// Bytes that a program has printed, as text. Of bytes that are not UTF-8, each that is not ASCII becomes `?`.
    ///
    /// `String(decoding:as:)` throws and catches an error for each byte that it repairs, and Swift Testing records a backtrace of each error: megabytes
    /// of an image would take half a minute.
    public init(printing bytes: [UInt8]) {
        self =
            String(validating: bytes, as: UTF8.self)
            ?? String(decoding: bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}
