/// The way in which an engine connects to hosts, for all of its transfers.
public struct ConnectionOptions: Sendable, Hashable {
    /// The versions of the Internet Protocol.
    public enum AddressFamily: Sendable, Hashable {
        /// IPv6 and IPv4, whichever connects first (RFC 8305).
        case any
        case ipv4
        case ipv6
    }

    /// The version of the Internet Protocol; default any.
    public var addressFamily = AddressFamily.any
    /// Addresses of hosts to use instead of DNS, each as `HOST:PORT:ADDRESS[,ADDRESS]…`; see libcurl's `CURLOPT_RESOLVE`. A host that a proxy
    /// resolves is not affected. Default: none.
    public var hostAddresses: [String] = []
    /// The network interface, local address or host name to connect from; default: chosen by the system.
    public var interface: String?

    public init() {}
}
