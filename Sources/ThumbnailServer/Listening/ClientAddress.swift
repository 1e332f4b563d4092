import Glibc
import NIOCore

/// Who a request comes from.
struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address without its port, as it is written: `192.0.2.7`, `2001:db8::7`.
    let description: String

    init(_ description: String) { self.description = description }

    init(_ address: SocketAddress?) { description = address?.ipAddress ?? "unknown" }

    /// Whom limits count it for. An IPv6 subscriber has a /64 of addresses to choose from (RFC 6177), and is one client.
    var subscriber: String {
        // Bytes rather than an in6_addr, which release builds take for SwiftNIO's.
        var address = [UInt8](repeating: 0, count: 16)
        guard description.utf8.contains(.colon), inet_pton(AF_INET6, description, &address) == 1 else {
            return description
        }
        return address.prefix(8).map { String($0, radix: 16) }.joined(separator: ".") + "/64"
    }

    /// As `Forwarded` writes it (RFC 7239 section 6).
    var forwardedNode: String { description.contains(":") ? "\"[\(description)]\"" : description }
}
