import HTTPSemantics

/// Which addresses a ``TransferEngine`` connects to.
///
/// It is judged where the connection is made: on the address that is connected to, after all name resolution, for the
/// request and for each redirect. What the URL's host looks like, what its name meant a moment ago, makes no difference.
/// It holds for an engine as a whole, so that no connection is ever reused that was made under another policy.
public struct AddressPolicy: Sendable {
    /// A host and a port of a URL.
    public struct Endpoint: Sendable, Hashable {
        /// As the URL has it: a name, dotted decimals, or an IPv6 address in brackets; compared without regard to case.
        public let host: String
        /// 1 … 65535; 80 and 443 are the schemes' own.
        public let port: Int

        public init(host: String, port: Int) {
            self.host = host.lowercased()
            self.port = port
        }
    }

    /// No address is refused: the default.
    public static let any = AddressPolicy(allowed: nil, mayAsk: nil)

    /// Only addresses of the public Internet: no private, loopback, link-local, shared (CGNAT), unique-local, multicast,
    /// broadcast, reserved, documentation or unspecified one, also as IPv4-mapped, NAT64, 6to4, Teredo or ISATAP. What a
    /// cloud serves its metadata at is among them.
    ///
    /// Such an engine uses no proxy, because then the proxy would make the connection: those of the environment are
    /// ignored, and a request with ``TransferOptions/proxy`` fails.
    ///
    /// - Parameters:
    ///   - endpoints: What may be connected to whatever its address: a service's own origin. Meant is the host and port of
    ///     the URL (of the redirect's URL, after one), so another name that leads to the same address is refused.
    ///   - mayAsk: Asked for each other endpoint, redirects' included, before its name is resolved and again before it is
    ///     connected to; default: all may be asked. It is called on the engine's thread and must return at once.
    public static func publicOnly(
        except endpoints: Set<Endpoint> = [], where mayAsk: (@Sendable (Endpoint) -> Bool)? = nil
    ) -> AddressPolicy {
        AddressPolicy(allowed: endpoints, mayAsk: mayAsk)
    }

    /// nil: all.
    private let allowed: Set<Endpoint>?
    private let mayAsk: (@Sendable (Endpoint) -> Bool)?

    var judges: Bool { allowed != nil }

    /// Why nothing is asked of that host, before its name is resolved; nil: its address decides.
    func refusal(of endpoint: @autoclosure () -> Endpoint) -> String? {
        guard let allowed, let mayAsk else { return nil }
        let endpoint = endpoint()
        if allowed.contains(endpoint) || mayAsk(endpoint) { return nil }
        return "\(endpoint.host):\(endpoint.port) is none of those that may be asked"
    }

    /// Why no connection is made to `address` on behalf of a URL with this endpoint; nil: it is made.
    ///
    /// - Parameter address: nil: it is no IP address.
    func refusal(of address: NetworkAddress?, for endpoint: @autoclosure () -> Endpoint?) -> String? {
        guard let allowed else { return nil }
        let endpoint = allowed.isEmpty && mayAsk == nil ? nil : endpoint()
        if let endpoint, allowed.contains(endpoint) { return nil }
        if let mayAsk {
            guard let endpoint else { return "its host cannot be told" }
            guard mayAsk(endpoint) else {
                return "\(endpoint.host):\(endpoint.port) is none of those that may be asked"
            }
        }
        guard let address else { return "it is not at an IP address" }
        return address.specialPurpose.map { "\(address) is no public address (\($0))" }
    }
}
