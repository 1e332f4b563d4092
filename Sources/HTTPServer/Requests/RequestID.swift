import HTTPTypes

/// The id of a request on all machines that it passes.
enum RequestID {
    /// The client's id, if it is short and plain; else a new one.
    static func id(in fields: HTTPFields, named name: HTTPField.Name?, orNumbered next: () -> UInt64) -> String {
        if let name, let given = fields[name], isPlain(given) { return given }
        return hexadecimal(next())
    }

    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8
        return !bytes.isEmpty && bytes.count <= 128 && bytes.allSatisfy { ByteClass.token.contains($0) || $0 == .colon }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        String(unsafeUninitializedCapacity: 16) { buffer in
            var rest = number
            for index in stride(from: 15, through: 0, by: -1) {
                let digit = UInt8(truncatingIfNeeded: rest & 15)
                buffer[index] = digit < 10 ? 0x30 + digit : 0x57 + digit
                rest >>= 4
            }
            return 16
        }
    }
}

/// Numbers that do not repeat and cannot be guessed from each other: a random start, then steps through a permutation
/// (SplitMix64). One generator for each connection: no lock, no system call.
struct RequestNumbers {
    private var state = UInt64.random(in: .min ... .max)

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
