import HTTPSemantics
import NIOCore

/// An address and a port to listen on.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address, or a host name.
    package var host: String
    /// The port; 0 selects a free one.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = Int(port)
    }

    /// `nil`: the address has no port.
    init?(_ address: SocketAddress) {
        guard let host = address.ipAddress, let port = address.port else { return nil }
        self.init(host: host, port: port)
    }

    /// True if the authority of an http URL is this address, or `localhost` if this is one of the loopback interface.
    package func isNamed(by authority: HostField) -> Bool {
        guard Int(authority.port ?? 80) == port, let own = NetworkAddress(host)?.withoutMapping else { return false }
        switch authority.host {
        case .address(let address): return address.withoutMapping == own
        case .name(let name): return name == "localhost" && (own.bytes.first == 127 || own.description == "::1")
        }
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
