extension [UInt8] {
    /// Two hexadecimal digits a byte, in lower case.
    package var hexadecimal: String {
        String(unsafeUninitializedCapacity: 2 * count) { buffer in
            let digits: StaticString = "0123456789abcdef"
            digits.withUTF8Buffer { digits in
                for (index, byte) in enumerated() {
                    buffer[2 * index] = digits[Int(byte >> 4)]
                    buffer[2 * index + 1] = digits[Int(byte & 15)]
                }
            }
            return 2 * count
        }
    }
}
