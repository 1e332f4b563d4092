import HTTPSemantics

/// The addresses that a `TransferEngine` may connect to.
///
/// The policy is applied when a connection is made: to the address that is connected to, after name resolution, for the
/// request and for each redirect. The form of the URL's host, and earlier resolutions of its name, are irrelevant. It
/// applies to an engine as a whole, so that connections are never reused under another policy.
public struct AddressPolicy: Sendable {
    /// A host and a port of a URL.
    public struct Endpoint: Sendable, Hashable {
        /// The host as in the URL: a name, dotted decimals, or an IPv6 address in brackets; compared without regard to
        /// case.
        public let host: String
        /// 1 … 65535; 80 and 443 are the schemes' own.
        public let port: Int

        public init(host: String, port: Int) {
            self.host = host.lowercased()
            self.port = port
        }
    }

    /// Allows all addresses: the default.
    public static let any = AddressPolicy(allowed: nil, isAllowed: nil)

    /// Only addresses of the public Internet: no private, loopback, link-local, shared (CGNAT), unique-local,
    /// multicast, broadcast, reserved, documentation or unspecified one, also as IPv4-mapped, NAT64, 6to4, Teredo or
    /// ISATAP. Addresses of cloud metadata services are among the refused ones.
    ///
    /// Such an engine uses no proxy, because the proxy would make the connection: proxies of the environment are
    /// ignored, and a request with ``TransferOptions/proxy`` fails.
    ///
    /// - Parameters:
    ///   - endpoints: Endpoints that may be connected to at any address, such as a service's own origin. They are
    ///     compared with the host and port of the URL (of the redirect's URL, after one), so another name for the same
    ///     address is refused.
    ///   - mayAsk: Called for each other endpoint, also of redirects, before its name is resolved and again before it
    ///     is connected to; default: all are allowed. Called on the engine's thread; must return at once.
    public static func publicOnly(
        except endpoints: Set<Endpoint> = [], where isAllowed: (@Sendable (Endpoint) -> Bool)? = nil
    ) -> AddressPolicy {
        AddressPolicy(allowed: endpoints, isAllowed: isAllowed)
    }

    /// nil allows all.
    private let allowed: Set<Endpoint>?
    private let isAllowed: (@Sendable (Endpoint) -> Bool)?

    var judges: Bool { allowed != nil }

    /// The reason for refusing a host before its name is resolved; nil if its address decides.
    func refusal(of endpoint: @autoclosure () -> Endpoint) -> String? {
        guard let allowed, let isAllowed else { return nil }
        let endpoint = endpoint()
        if allowed.contains(endpoint) || isAllowed(endpoint) { return nil }
        return "\(endpoint.host):\(endpoint.port) is none of those that may be asked"
    }

    /// The reason for refusing a connection to `address` on behalf of a URL with this endpoint; nil if it is allowed.
    ///
    /// - Parameter address: nil if it is not an IP address.
    func refusal(of address: NetworkAddress?, for endpoint: @autoclosure () -> Endpoint?) -> String? {
        guard let allowed else { return nil }
        let endpoint = allowed.isEmpty && isAllowed == nil ? nil : endpoint()
        if let endpoint, allowed.contains(endpoint) { return nil }
        if let isAllowed {
            guard let endpoint else { return "its host cannot be told" }
            guard isAllowed(endpoint) else {
                return "\(endpoint.host):\(endpoint.port) is none of those that may be asked"
            }
        }
        guard let address else { return "it is not at an IP address" }
        return address.specialPurpose.map { "\(address) is no public address (\($0))" }
    }
}
