extension [UInt8] {
    /// Two lower-case digits a byte.
    var hexadecimal: String {
        reduce(into: "") { text, byte in text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    }
}
