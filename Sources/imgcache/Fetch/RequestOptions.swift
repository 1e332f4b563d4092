import ArgumentParser
import Glibc
import ImageCache
import ProcessLimits
import Transfer
import Units

/// The options that a connection from this machine needs, whatever is requested.
struct RouteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use this proxy instead of http_proxy, https_proxy, all_proxy and no_proxy.", valueName: "url"))
    var proxy: String?

    @Option(help: ArgumentHelp("Trust the certificates in this PEM file instead of the system's.", valueName: "file"))
    var cacert: String?
}

struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("Send this header field; may be repeated.", valueName: "name: value"))
    var headers: [String] = []

    @Option(name: [.customShort("A"), .customLong("user-agent")], help: "The User-Agent to send.")
    var userAgent: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp("Basic credentials, sent to the URL's own origin only.", valueName: "user:password"))
    var user: String?

    @Flag(help: "Read credentials from ~/.netrc.")
    var netrc = false

    @OptionGroup var route: RouteOptions

    @Option(
        help: ArgumentHelp(
            "Identify by this PEM file, with certificate and key, to the URL's own origin; FILE:PASSPHRASE for an encrypted key.",
            valueName: "file"))
    var cert: String?

    @Option(help: ArgumentHelp("The private key of --cert, if it is in another PEM file.", valueName: "file"))
    var privateKey: String?

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Do not check TLS certificates.")
    var insecure = false

    @Option(
        name: [.customShort("b"), .customLong("cookies")],
        help: ArgumentHelp(
            "Send the cookies of this file, in Netscape's format as browsers' extensions and curl write it.",
            valueName: "file"))
    var cookies: String?

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Connect by IPv4 only.")
    var ipv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Connect by IPv6 only.")
    var ipv6 = false

    @Option(
        help: ArgumentHelp(
            "Connect to this address in place of those of the host's name; may be repeated.",
            valueName: "host:port:address"))
    var resolve: [String] = []

    @Option(help: ArgumentHelp("Connect from this network interface, address or host name.", valueName: "name"))
    var interface: String?

    @Option(help: ArgumentHelp("Give up connecting after this time (default 30s).", valueName: "time"))
    var connectTimeout: TimeSpan?

    @Option(
        name: [.customShort("m"), .customLong("max-time")],
        help: ArgumentHelp(
            "Give up an attempt after this time; received bytes are kept (default: never).", valueName: "time"))
    var maxTime: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Give up an attempt that brings fewer bytes a second than this for --speed-time; counts as no progress (default: none).",
            valueName: "size"))
    var speedLimit: ByteSize?

    @Option(
        help: ArgumentHelp(
            "The time for --speed-limit, and the time without a byte after which an attempt is given up (default 30s).",
            valueName: "time"))
    var speedTime: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Retries after a failed attempt that made no progress (default 5; 1 while the host cannot be reached).",
            valueName: "n"))
    var retry: Int?

    @Option(help: ArgumentHelp("Start no retry after this time (default: no limit).", valueName: "time"))
    var retryMaxTime: TimeSpan?

    @Option(help: ArgumentHelp("At most this many bytes a second for each transfer.", valueName: "size"))
    var limitRate: ByteSize?

    @Option(
        help: ArgumentHelp(
            "At most this many connections for one body; 1: never more (default: up to 16, as long as they add to the rate).",
            valueName: "n"))
    var segments: Int?

    @Option(help: ArgumentHelp("Refuse a body larger than this.", valueName: "size"))
    var maxFilesize: ByteSize?

    @Option(help: ArgumentHelp("Follow at most this many redirects (default 20).", valueName: "n"))
    var maxRedirs: Int?

    @Option(
        help: ArgumentHelp(
            "Require this SHA-256 of the body; otherwise nothing is stored and the exit code is 5.", valueName: "hex"))
    var sha256: String?

    func validate() throws {
        guard retry ?? 0 >= 0 else { throw ValidationError("--retry must be an integer of at least 0.") }
        guard maxRedirs ?? 0 >= 0 else { throw ValidationError("--max-redirs must be an integer of at least 0.") }
        guard (1...16).contains(segments ?? 1) else {
            throw ValidationError("--segments must be an integer from 1 to 16.")
        }
        guard limitRate?.bytes ?? 1 > 0 else { throw ValidationError("--limit-rate must be greater than 0.") }
        guard speedLimit?.bytes ?? 1 > 0 else { throw ValidationError("--speed-limit must be greater than 0.") }
        guard speedTime?.seconds ?? 1 > 0 else { throw ValidationError("--speed-time must be greater than 0.") }
        if let speedLimit, let limitRate, limitRate.bytes <= speedLimit.bytes {
            throw ValidationError("--limit-rate must be greater than --speed-limit.")
        }
        guard !ipv4 || !ipv6 else { throw ValidationError("Only one of --ipv4 and --ipv6 can be specified.") }
        for text in resolve where !Self.isHostAddress(text) {
            throw ValidationError("--resolve takes HOST:PORT:ADDRESS, not '\(text)'.")
        }
        guard privateKey == nil || cert != nil else { throw ValidationError("--private-key goes with --cert.") }
        for (option, file) in [("--cert", certificate?.path), ("--private-key", privateKey), ("--cookies", cookies)] {
            // libcurl would send no cookies, or report a missing certificate only after the connection was made.
            guard let file, access(file, R_OK) != 0 else { continue }
            throw ValidationError("\(option) \(file): \(errorText(errno)).")
        }
        try HeaderLines.validate(headers)
        let fields = HeaderLines.fields(headers)
        guard !fields.contains(.range) else {
            throw ValidationError("-H Range: use imgcache cat --range A-B URL for a part of a file.")
        }
        guard cookies == nil || !fields.contains(.cookie) else {
            throw ValidationError("--cookies cannot be combined with a Cookie of -H.")
        }
        if let sha256 {
            guard sha256.utf8.count == 64, sha256.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
                throw ValidationError("--sha256 must be 64 hexadecimal digits.")
            }
        }
    }
}

extension RequestOptions {
    var certificate: TransferOptions.ClientCertificate? { cert.map { Self.certificate($0, privateKey: privateKey) } }

    /// The certificate for a value of `--cert`. The name of an existing file may contain a colon.
    static func certificate(_ cert: String, privateKey: String? = nil) -> TransferOptions.ClientCertificate {
        guard access(cert, F_OK) != 0, let colon = cert.firstIndex(of: ":") else {
            return .init(path: cert, privateKey: privateKey)
        }
        return .init(
            path: String(cert[..<colon]), privateKey: privateKey, passphrase: String(cert[cert.index(after: colon)...]))
    }

    /// The way to connect, for all transfers of the command.
    var connections: ConnectionOptions {
        var connections = ConnectionOptions()
        connections.addressFamily = ipv4 ? .ipv4 : ipv6 ? .ipv6 : .any
        connections.hostAddresses = resolve
        connections.interface = interface
        return connections
    }

    private static func isHostAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 && !parts[0].isEmpty && UInt16(parts[1]) != nil && !parts[2].isEmpty
    }
}

/// The options of commands for several URLs.
struct BatchOptions: ParsableArguments {
    @Option(
        name: [.customShort("i"), .customLong("input-file")],
        help: ArgumentHelp(
            "Also get what this list names, '-' for standard input: URLs, one a line, '#' comments; for fetch and pin also aria2 "
                + "input files and Metalink 4, for fetch checksums with --base-url.",
            valueName: "file"))
    var inputFile: String?

    @Option(
        name: [.customShort("j"), .customLong("parallel")],
        help: ArgumentHelp(
            """
            At most this many at once (default: as many transfers as make the run faster, up to 64 connections; thumb: 8 \
            images).
            """,
            valueName: "n"))
    var parallel: Int?

    /// The number of concurrent URLs, limited by open files and connections.
    func width(usually usual: Int = Self.usual) -> Int { min(parallel ?? usual, DescriptorLimit.transfers()) }

    /// The usual limit of HTTP/2 servers per connection.
    static let usual = 100
    /// The usual number of connections to one host.
    static let usualConnections = 64

    func validate() throws {
        guard (1...1000).contains(parallel ?? Self.usual) else {
            throw ValidationError("-j must be an integer from 1 to 1000.")
        }
    }

    /// The URLs on the command line, then the URLs in `-i`.
    func all(_ named: [String]) throws -> [String] {
        try named + (inputFile.map { InputList.urls(in: try InputList.read($0)) } ?? [])
    }
}

struct CachingOptions: ParsableArguments {
    @Flag(help: "Download again, ignoring the stored file.")
    var refresh = false

    @Flag(help: "Validate the stored file with the server, even if it is fresh.")
    var revalidate = false

    @Flag(help: "Use the stored file regardless of its age; download only if there is none.")
    var preferCached = false

    @Flag(help: "Never use the network: the stored file regardless of its age, or exit code 7.")
    var offline = false

    @Option(help: ArgumentHelp("Accept a stored file that has been stale for at most this long.", valueName: "time"))
    var maxStale: TimeSpan?

    @Flag(
        help: """
            Take a file for fresh for a tenth of its age, at most a day, where the server says nothing of that (default: ask \
            the server whether it changed).
            """)
    var heuristic = false

    @Option(
        name: .customLong("signature-parameter"),
        help: ArgumentHelp(
            "A query parameter to ignore when the final URL is compared with that of the stored file, like those of S3,"
                + " GCS, Azure, CloudFront and Akamai; may be repeated.",
            valueName: "name"))
    var signatureParameters: [String] = []

    @Flag(name: .customLong("no-resume"), help: "Discard the partial downloads of earlier runs and start over.")
    var noResume = false

    func validate() throws {
        guard [refresh, revalidate, preferCached, offline, maxStale != nil].count(where: \.self) <= 1 else {
            throw ValidationError(
                "Only one of --refresh, --revalidate, --prefer-cached, --offline and --max-stale can be specified.")
        }
    }
}
