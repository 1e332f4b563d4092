import Glibc

/// An IP address, in network representation.
package struct NetworkAddress: Hashable, Sendable {
    /// Four bytes, or sixteen, in network order.
    package let bytes: [UInt8]

    /// - Parameter bytes: Four or sixteen bytes; any other count yields nil.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    private init(_ bytes: ArraySlice<UInt8>) { self.bytes = Array(bytes) }

    /// Parses dotted decimals or the text form of RFC 4291 section 2.2, and nothing else.
    package init?(_ text: String) {
        var address = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &address) == 1 {
            bytes = Array(address.prefix(4))
        } else if inet_pton(AF_INET6, text, &address) == 1 {
            bytes = address
        } else {
            return nil
        }
    }

    package var isIPv4: Bool { bytes.count == 4 }

    /// Returns true if the first `bits` bits equal the bits of a prefix of the same family.
    package func begins(_ prefix: Self, bits: Int) -> Bool {
        guard bytes.count == prefix.bytes.count else { return false }
        let whole = bits / 8
        guard bytes[..<whole].elementsEqual(prefix.bytes[..<whole]) else { return false }
        guard bits % 8 != 0 else { return true }
        return (bytes[whole] ^ prefix.bytes[whole]) >> UInt8(8 - bits % 8) == 0
    }

    /// The IPv4 address in these four bytes.
    package func embedded(at offset: Int) -> Self { Self(bytes[offset..<offset + 4]) }
}

extension NetworkAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: 64)
        guard inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
