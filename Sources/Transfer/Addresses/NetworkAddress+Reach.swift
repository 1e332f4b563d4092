import HTTPSemantics

extension NetworkAddress {
    /// The purpose of an address that is not a public Internet address; nil for a public one.
    ///
    /// IPv4: the entries of the IANA IPv4 Special-Purpose Address Registry, all addresses that are not unicast, and one address of a cloud
    /// provider. IPv6: all addresses except global unicast (2000::/3), and the registry's entries in that block. A form that embeds an IPv4 address
    /// counts as that address.
    var specialPurpose: String? { isIPv4 ? specialPurposeOfIPv4 : specialPurposeOfIPv6 }

    private struct Block: Sendable {
        let prefix: NetworkAddress
        let bits: Int
        let name: String

        init?(_ text: String, _ bits: Int, _ name: String) {
            guard let prefix = NetworkAddress(text) else { return nil }
            self.prefix = prefix
            self.bits = bits
            self.name = name
        }
    }

    private static let blocksOfIPv4: [Block] = [
        Block("0.0.0.0", 8, "unspecified"),  // RFC 791; Linux connects 0.0.0.0 to itself
        Block("10.0.0.0", 8, "private"),  // RFC 1918
        Block("100.64.0.0", 10, "shared (CGNAT)"),  // RFC 6598; with a cloud's metadata at 100.100.100.200
        Block("127.0.0.0", 8, "loopback"),  // RFC 1122
        Block("168.63.129.16", 32, "a cloud's own service"),  // Azure's host, public by its number only
        Block("169.254.0.0", 16, "link-local"),  // RFC 3927; with the metadata at 169.254.169.254
        Block("172.16.0.0", 12, "private"),  // RFC 1918
        Block("192.0.0.0", 24, "reserved for protocols"),  // RFC 6890; with a cloud's metadata at 192.0.0.192
        Block("192.0.2.0", 24, "documentation"),  // RFC 5737
        Block("192.31.196.0", 24, "AS112"),  // RFC 7535
        Block("192.52.193.0", 24, "AMT"),  // RFC 7450
        Block("192.88.99.0", 24, "6to4 relay"),  // RFC 7526
        Block("192.168.0.0", 16, "private"),  // RFC 1918
        Block("192.175.48.0", 24, "AS112"),  // RFC 7534
        Block("198.18.0.0", 15, "benchmarking"),  // RFC 2544
        Block("198.51.100.0", 24, "documentation"),  // RFC 5737
        Block("203.0.113.0", 24, "documentation"),  // RFC 5737
        Block("224.0.0.0", 4, "multicast"),  // RFC 5771
        Block("255.255.255.255", 32, "broadcast"),  // RFC 919
        Block("240.0.0.0", 4, "reserved"),  // RFC 1112
    ].compactMap(\.self)

    /// Blocks inside of 2000::/3.
    private static let blocksOfIPv6: [Block] = [
        Block("2001::", 32, "Teredo"),  // RFC 4380
        Block("2001::", 23, "reserved for protocols"),  // RFC 2928
        Block("2001:db8::", 32, "documentation"),  // RFC 3849
        Block("2620:4f:8000::", 48, "AS112"),  // RFC 7534
        Block("3fff::", 20, "documentation"),  // RFC 9637
    ].compactMap(\.self)

    /// Blocks outside of 2000::/3, for the description. All other addresses outside of it are also refused.
    private static let otherBlocksOfIPv6: [Block] = [
        Block("::", 128, "unspecified"),
        Block("::1", 128, "loopback"),
        Block("::", 96, "IPv4-compatible"),  // RFC 4291 section 2.5.5.1
        Block("::ffff:0:0:0", 96, "IPv4-translated"),  // RFC 2765
        Block("64:ff9b:1::", 48, "local-use NAT64"),  // RFC 8215
        Block("100::", 64, "discard-only"),  // RFC 6666
        Block("5f00::", 16, "segment routing"),  // RFC 9602
        Block("fc00::", 7, "unique-local"),  // RFC 4193; with a cloud's metadata at fd00:ec2::254
        Block("fe80::", 10, "link-local"),  // RFC 4291
        Block("fec0::", 10, "site-local"),  // RFC 3879
        Block("ff00::", 8, "multicast"),  // RFC 4291
    ].compactMap(\.self)

    private static let globalUnicast = Block("2000::", 3, "")
    private static let mapped = Block("::ffff:0:0", 96, "IPv4-mapped")  // RFC 4291 section 2.5.5.2
    private static let nat64 = Block("64:ff9b::", 96, "NAT64")  // RFC 6052
    private static let sixToFour = Block("2002::", 16, "6to4")  // RFC 3056

    private func isIn(_ block: Block?) -> Bool { block.map { begins($0.prefix, bits: $0.bits) } ?? false }

    private var specialPurposeOfIPv4: String? { Self.blocksOfIPv4.first(where: isIn)?.name }

    private var specialPurposeOfIPv6: String? {
        func carried(at offset: Int, by form: String) -> String? {
            embedded(at: offset).specialPurposeOfIPv4.map { "\($0), as \(form)" }
        }
        if isIn(Self.mapped) { return carried(at: 12, by: "IPv4-mapped") }
        if isIn(Self.nat64) { return carried(at: 12, by: "NAT64") }
        guard isIn(Self.globalUnicast) else {
            return Self.otherBlocksOfIPv6.first(where: isIn)?.name ?? "not global unicast"
        }
        if let block = Self.blocksOfIPv6.first(where: isIn) { return block.name }
        if isIn(Self.sixToFour) { return carried(at: 2, by: "6to4") }
        // RFC 5214 section 6.1: ISATAP, under whatever prefix.
        if bytes[8] & 0xFD == 0, bytes[9] == 0, bytes[10] == 0x5E, bytes[11] == 0xFE {
            return carried(at: 12, by: "ISATAP")
        }
        return nil
    }
}
