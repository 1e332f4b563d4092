import HTTPSemantics

/// The addresses that a `TransferEngine` may connect to.
///
/// The policy is applied when a connection is made, to the address after name resolution, for the request and for each redirect. The form of the
/// URL's host and earlier resolutions of its name do not matter. A policy applies to an engine as a whole, so that no connection is reused under
/// another policy.
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
    public static let any = AddressPolicy(verdict: nil, judgesHosts: false)

    /// Allows only addresses of the public Internet: no private, loopback, link-local, shared (CGNAT), unique-local, multicast, broadcast,
    /// reserved, documentation or unspecified address, also not as IPv4-mapped, NAT64, 6to4, Teredo or ISATAP address. Addresses of cloud metadata
    /// services are refused.
    ///
    /// Such an engine uses no proxy, because the proxy would make the connection: it ignores the proxies of the environment, and a request with
    /// ``TransferOptions/proxy`` fails.
    ///
    /// - Parameters:
    ///   - endpoints: Endpoints that may be connected to at any address, such as a service's own origin. They are
    ///     compared with the host and port of the URL (of the redirect's URL, after one), so another name for the same
    ///     address is refused.
    ///   - isAllowed: Returns true to allow another endpoint at public addresses. Called before the endpoint's name is resolved and again before it
    ///     is connected to, also after a redirect. Called on the engine's thread: must return immediately. Default: all endpoints are allowed.
    public static func publicOnly(
        except endpoints: Set<Endpoint> = [], where isAllowed: (@Sendable (Endpoint) -> Bool)? = nil
    ) -> AddressPolicy {
        let verdict: @Sendable (Endpoint) -> Verdict = { endpoint in
            if endpoints.contains(endpoint) { return .anyAddress }
            return isAllowed?(endpoint) ?? true ? .publicAddress : .refused
        }
        return AddressPolicy(verdict: verdict, judgesHosts: isAllowed != nil)
    }

    /// The addresses at which an endpoint is allowed.
    package enum Verdict: Sendable, Hashable {
        case anyAddress, publicAddress, refused
    }

    /// A policy that calls `verdict` for each endpoint, also of redirects: before its name is resolved, and again before it is connected to. Called
    /// on the engine's thread: must return immediately.
    package static func judging(_ verdict: @escaping @Sendable (Endpoint) -> Verdict) -> AddressPolicy {
        AddressPolicy(verdict: verdict, judgesHosts: true)
    }

    /// The verdict on an endpoint; `nil` to allow all.
    private let verdict: (@Sendable (Endpoint) -> Verdict)?
    /// False if every host is allowed at some address.
    private let judgesHosts: Bool

    var judges: Bool { verdict != nil }

    /// The reason for refusing a host before its name is resolved; nil if its address decides.
    func refusal(of endpoint: @autoclosure () -> Endpoint) -> String? {
        guard let verdict, judgesHosts else { return nil }
        let endpoint = endpoint()
        return verdict(endpoint) == .refused ? Self.refusal(endpoint) : nil
    }

    /// The reason for refusing a connection to `address` on behalf of a URL with this endpoint; nil if it is allowed.
    ///
    /// - Parameter address: nil if it is not an IP address.
    func refusal(of address: NetworkAddress?, for endpoint: @autoclosure () -> Endpoint?) -> String? {
        guard let verdict else { return nil }
        if let endpoint = endpoint() {
            switch verdict(endpoint) {
            case .anyAddress: return nil
            case .refused: return Self.refusal(endpoint)
            case .publicAddress: break
            }
        } else if judgesHosts {
            return "its host cannot be told"
        }
        guard let address else { return "it is not at an IP address" }
        return address.specialPurpose.map { "\(address) is no public address (\($0))" }
    }

    private static func refusal(_ endpoint: Endpoint) -> String {
        "\(endpoint.host):\(endpoint.port) is none of those that may be asked"
    }
}
