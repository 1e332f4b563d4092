/// The host of a URL (RFC 3986 section 3.2.2).
enum HostName {
    /// Normalises a host: lower case, no escapes, names in A-labels. Accepts the characters of DNS names and addresses,
    /// and nothing that two parsers may read differently.
    static func normalized(_ bytes: ArraySlice<UInt8>) throws(InvalidURL) -> String {
        if bytes.first == UInt8(ascii: "[") { return try address(bytes) }
        guard var name = PercentEncoding.strictlyDecoded(bytes) else { throw InvalidURL(.percent) }
        if name.contains(where: { $0 >= 0x80 }) {
            guard let text = String(validating: name, as: UTF8.self) else { throw InvalidURL(.host) }
            name = Array(try InternationalName.ascii(text).utf8)
        }
        name = name.map(\.lowercased)
        guard !name.isEmpty, name.allSatisfy(\.isUnreserved) else { throw InvalidURL(.host) }
        return String(decoding: name, as: UTF8.self)
    }

    /// An IPv6 address in brackets, optionally with a zone (RFC 6874). The zone's letter case is preserved: it names an
    /// interface.
    private static func address(_ bytes: ArraySlice<UInt8>) throws(InvalidURL) -> String {
        guard bytes.last == UInt8(ascii: "]"), bytes.count > 2 else { throw InvalidURL(.host) }
        let inner = bytes.dropFirst().dropLast()
        let address = inner.prefix { $0 != UInt8(ascii: "%") }
        guard !address.isEmpty,
            address.allSatisfy({ $0.hexadecimalValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
        else { throw InvalidURL(.host) }
        let zone = inner[address.endIndex...]
        if !zone.isEmpty {
            guard zone.starts(with: "%25".utf8), zone.count > 3, zone.dropFirst(3).allSatisfy(\.isUnreserved) else {
                throw InvalidURL(.host)
            }
        }
        return "[" + String(decoding: address.map(\.lowercased), as: UTF8.self) + String(decoding: zone, as: UTF8.self)
            + "]"
    }
}
