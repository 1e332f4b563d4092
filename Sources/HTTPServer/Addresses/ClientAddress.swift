import HTTPSemantics
import NIOCore

/// The address of a request's client.
package struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address without its port, as text: `192.0.2.7`, `2001:db8::7`.
    package let description: String
    /// The name under which limits count the client. An IPv6 subscriber has a /64 of addresses (RFC 6177), and counts
    /// as one client.
    package let subscriber: String

    package init(_ text: String) {
        guard let address = NetworkAddress(text) else {
            (description, subscriber) = (text, text)
            return
        }
        self = ClientAddress(address)
    }

    init(_ address: NetworkAddress) {
        // On a dual-stack listener, IPv4 clients have IPv4-mapped addresses (RFC 4291 section 2.5.5.2), all in one /64.
        let address = address.withoutMapping
        description = address.description
        subscriber =
            address.isIPv4
            ? description : address.bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }

    init(_ address: SocketAddress?) { self.init(address?.ipAddress ?? "unknown") }

    /// The node in `Forwarded` (RFC 7239 section 6).
    package var forwardedNode: String { description.contains(":") ? "\"[\(description)]\"" : description }
}

extension NetworkAddress {
    private static let mapped = NetworkAddress("::ffff:0.0.0.0")

    /// The IPv4 address of an IPv4-mapped IPv6 address; other addresses are unchanged.
    var withoutMapping: NetworkAddress {
        guard let mapped = Self.mapped, begins(mapped, bits: 96) else { return self }
        return embedded(at: 12)
    }
}
