import HTTPTypes
import NIOCore

/// The id of a request on all machines that it passes.
package enum RequestID {
    /// The client's id, if it is short and plain; else a new one.
    static func id(in fields: HTTPFields, named name: HTTPField.Name?, orNumbered next: () -> UInt64) -> String {
        if let name, let given = fields[name], isPlain(given) { return given }
        return hexadecimal(next())
    }

    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8
        return !bytes.isEmpty && bytes.count <= 128 && bytes.allSatisfy { ByteClass.token.contains($0) || $0 == .colon }
    }

    /// The number of bytes of a generated id.
    static let length = 16

    /// A generated id.
    package static func hexadecimal(_ number: UInt64) -> String {
        String(unsafeUninitializedCapacity: length) { buffer in
            for index in 0..<length { buffer[index] = digit(index, of: number) }
            return length
        }
    }

    /// Writes a generated id over bytes of a buffer.
    static func write(_ number: UInt64, to buffer: inout ByteBuffer, at start: Int) {
        buffer.withUnsafeMutableReadableBytes { bytes in
            guard start + length <= bytes.count else { return }
            for index in 0..<length { bytes[start + index] = digit(index, of: number) }
        }
    }

    /// A hexadecimal digit, counted from the left.
    private static func digit(_ index: Int, of number: UInt64) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: number >> UInt64((length - 1 - index) * 4)) & 15
        return digit < 10 ? 0x30 + digit : 0x57 + digit
    }
}

/// Numbers that do not repeat and cannot be guessed from each other: a random start, then steps through a permutation
/// (SplitMix64). One generator for each connection: no lock, no system call.
struct RequestNumbers {
    private var state = UInt64.random(in: .min ... .max)

    mutating func next() -> UInt64 {
        state &+= RequestID.step
        return RequestID.mixed(state)
    }
}

extension RequestID {
    /// The distance of the states of SplitMix64.
    package static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The number of a state of SplitMix64.
    package static func mixed(_ state: UInt64) -> UInt64 {
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
