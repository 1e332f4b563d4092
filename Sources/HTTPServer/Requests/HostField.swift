package import HTTPSemantics

/// `Host` (RFC 9110 section 7.2), or the authority of a request target: a host and an optional port.
///
/// Stricter than RFC 3986: forms that resemble neither a name nor an address are interpreted differently by recipients.
package struct HostField: Hashable, Sendable {
    package enum Host: Hashable, Sendable {
        /// In lower case, without a trailing dot. Empty if the field is.
        case name(String)
        case address(NetworkAddress)
    }

    package let host: Host
    package let port: UInt16?

    /// `nil` if it is invalid.
    package init?(_ text: some Collection<UInt8>) {
        guard text.first == UInt8(ascii: "[") else {
            let name = text.prefix { $0 != .colon }
            // No host may be empty before a port (RFC 9110 section 4.2.1).
            guard let host = Self.host(name), let port = Self.port(text.dropFirst(name.count)),
                !name.isEmpty || text.isEmpty
            else { return nil }
            (self.host, self.port) = (host, port.number)
            return
        }
        guard let end = text.firstIndex(of: UInt8(ascii: "]")),
            let address = NetworkAddress(String(decoding: text[..<end].dropFirst(), as: UTF8.self)), !address.isIPv4,
            let port = Self.port(text[text.index(after: end)...])
        else { return nil }
        (host, self.port) = (.address(address), port.number)
    }

    package static func isValid(_ text: some Collection<UInt8>) -> Bool { HostField(text) != nil }

    private static func host(_ bytes: some Collection<UInt8>) -> Host? {
        var labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty ?? false { labels.removeLast() }
        guard let last = labels.last, bytes.count <= 254 else { return nil }
        guard !bytes.isEmpty else { return .name("") }
        guard labels.allSatisfy({ (1...63).contains($0.count) && $0.allSatisfy(ByteClass.hostName.contains) }) else {
            return nil
        }
        let name = String(decoding: bytes, as: UTF8.self).lowercased()
        if let address = NetworkAddress(name) { return .address(address) }
        // A name that ends in a number is an address to some parsers (WHATWG URL section 3.5): 127.1, 0x7f.1,
        // 1.2.3.4.5.
        let isNumber = last.allSatisfy { $0.digitValue != nil } || name.hasPrefix("0x") || name.contains(".0x")
        guard !isNumber else { return nil }
        return .name(name.hasSuffix(".") ? String(name.dropLast()) : name)
    }

    private struct Port { var number: UInt16? }

    /// Nothing, or a colon and an optional number.
    private static func port(_ bytes: some Collection<UInt8>) -> Port? {
        guard let first = bytes.first else { return Port(number: nil) }
        let digits = bytes.dropFirst()
        guard first == .colon, digits.count <= 5, digits.allSatisfy({ $0.digitValue != nil }) else { return nil }
        guard !digits.isEmpty else { return Port(number: nil) }
        return UInt16(String(decoding: digits, as: UTF8.self)).map { Port(number: $0) }
    }
}
