import HTTPSemantics

/// A block of IP addresses in the notation of RFC 4632 section 3.1: `10.0.0.0/8`, `2001:db8::/32`; without a length,
/// one address.
package struct AddressBlock: Sendable, Hashable {
    private let prefix: NetworkAddress
    private let bits: Int

    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let prefix = NetworkAddress(String(first)) else { return nil }
        self.prefix = prefix
        let most = prefix.bytes.count * 8
        guard parts.count == 2 else {
            bits = most
            return
        }
        guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ $0.digitValue != nil }),
            let bits = Int(parts[1]), bits <= most
        else { return nil }
        self.bits = bits
    }

    func contains(_ address: NetworkAddress) -> Bool { address.begins(prefix, bits: bits) }
}
