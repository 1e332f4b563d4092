import Glibc
import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageCache
import ImageProxy
import Logging
import URLSigning

extension Setting {
    /// Every setting, in the order in which the help tells them.
    static let all: [(title: String, settings: [Setting])] = [
        ("What is served", served), ("The cache", caching), ("The origin", origins), ("Images", images),
        ("Limits", limits), ("Time", times), ("Running it", running),
    ]

    static func named(_ name: String) -> Setting? {
        for (_, settings) in all {
            for setting in settings where setting.name == name { return setting }
        }
        return nil
    }

    private static let served: [Setting] = [
        text("origin", "URL", \.origin, "Where everything comes from, such as https://images.example.com. Required.") {
            originProblem($0)
        },
        address("listen", \.listen, "Where clients are served; port 0 takes a free one."),
        Setting(
            name: "admin", placeholder: "HOST:PORT",
            help: "Where metrics, health, purging and the page are; \"off\": nowhere.",
            read: { text, configuration in
                if text == "off" {
                    configuration.admin = nil
                } else {
                    guard let address = ListenAddress(text) else { return "is no HOST:PORT" }
                    configuration.admin = address
                }
                return nil
            }, text: { $0.admin?.description ?? "off" }, copy: { $1.admin = $0.admin }),
        list("admin-hosts", "HOST,…", \.adminHosts, "Names that the admin listener goes by, beside localhost.") {
            hostProblem($0)
        },
    ]

    private static let caching: [Setting] = [
        text("cache-dir", "DIR", \.cacheDirectory, "The store's folder; made when it does not exist."),
        bytes(
            "capacity", \.capacity, atLeast: StoreConfiguration.minimumCapacity,
            "The most that the store takes on disk (default: as before, else 20GiB, but never more than half of what is free)."
        ),
        bytes(
            "memory-capacity", \.memoryCapacity, atLeast: 0,
            "Images and small files that are held in memory; a quarter of it, at most 32 MiB, is for files."),
        count(
            "max-variants", \.maxVariants, 1...100_000,
            "Responses of one URL that are kept side by side (Vary); the least recently used go first."),
    ]

    private static let origins: [Setting] = [
        count("origin-connections", \.originConnections, 1...10_000, "Transfers from the origin at a time."),
        count(
            "origin-connections-per-client", \.originConnectionsPerClient, 1...10_000,
            "The same, for one client (default: a quarter)."),
        time("origin-connect-timeout", \.originConnectTimeout, "To resolve, connect and shake hands."),
        time(
            "origin-timeout", \.originTimeout,
            "Without a byte from the origin. Then the next attempt, and after the last: 504."),
        count("origin-retries", \.originRetries, 0...100, "Further attempts when one has brought nothing."),
        bytes("max-response-size", \.maxResponseSize, atLeast: 1, "The largest answer that is taken from the origin."),
        text("via-name", "NAME", \.viaName, "What the server calls itself in Via.") {
            HTTPField.Name($0) == nil ? "is no token" : nil
        },
        text("request-id-header", "NAME", \.requestIDHeader, "The field that carries a request's id; \"off\": none.") {
            HTTPField.Name($0) == nil ? "is no field name" : nil
        },
        flag("forwarded", \.tellsClient, "Tells the origin who asked, in Forwarded (RFC 7239)."),
        list(
            "pass-fields", "NAME,…", \.passedFields,
            "Fields like X-Forwarded-Host that go to the origin as clients send them; responses are then stored for each value."
        ) { HTTPField.Name($0) == nil ? "is no field name" : nil },
        list(
            "signature-parameters", "NAME,…", \.signatureParameters,
            "Query parameters that are part of a signature, beside those of S3, GCS, Azure, CloudFront and Akamai: they do not count when the final URL of a redirect is compared with that of a stored response."
        ) { $0.utf8.contains { "&=#?".utf8.contains($0) } ? "is not the name of a query parameter" : nil },
        list(
            "ignored-parameters", "NAME,…", \.ignoredParameters,
            "Query parameters that do not say what is asked for: responses are stored without them and answer every value. * stands for any text."
        ) { $0.utf8.contains { "&=#?".utf8.contains($0) } ? "is not the name of a query parameter" : nil },
        list(
            "signed-hosts", "HOST,…", \.signedHosts,
            "Hosts at which the signatures of S3, GCS, Azure, CloudFront and Akamai are left out of what responses are stored under; *.example.com for all below. Whoever has the rest of such a URL then gets what is stored for it."
        ) { $0.hasPrefix("[") || !$0.contains(":") ? hostProblem($0) : "is not a host without a port" },
        flag("server-timing", \.tellsTiming, "Tells clients how long the cache took, in Server-Timing."),
    ]

    private static let images: [Setting] = [
        list(
            "allow-hosts", "HOST,…", \.allowedHosts,
            "Further hosts that images may come from; *.example.com for all below."
        ) {
            hostProblem($0)
        }.reloadable,
        Setting(
            name: "widths", placeholder: "N,…", help: "The widths that may be asked for, in pixels (default: any).",
            shape: .list, isReloadable: true,
            read: { text, configuration in
                var widths: [Int] = []
                for member in SettingText.list(text) {
                    guard let width = Int(member), (1...65_535).contains(width) else {
                        return "\"\(member)\" is no width from 1 to 65535"
                    }
                    widths.append(width)
                }
                configuration.widths = widths
                return nil
            }, text: { $0.widths.map(String.init).joined(separator: ",") }, copy: { $1.widths = $0.widths }),
        list(
            "signing-key-files", "FILE,…", \.signingKeyFiles,
            "Keys that images' URLs must be signed with, one id:base64 a line (see imgcache sign). Default: no signature."
        ) { keyFileProblem($0) }.reloadable,
        bytes("max-image-bytes", \.maxImageBytes, atLeast: 1, "The largest original that an image is made of.")
            .reloadable,
        count("max-pixels", \.maxPixels, 1...2_000_000_000, "The most pixels of an original, and of an image.")
            .reloadable,
        time("image-timeout", \.imageTimeout, "CPU time that an image may take, from decoding to encoding.").reloadable,
        Setting(
            name: "damaged", placeholder: "serve|refuse",
            help: "Images of originals with damaged data: served for a minute at a time, or refused with 422.",
            isReloadable: true,
            read: { text, configuration in
                guard let damaged = DamagedImages(rawValue: text) else { return "is neither serve nor refuse" }
                configuration.damagedImages = damaged
                return nil
            }, text: { $0.damagedImages.rawValue }, copy: { $1.damagedImages = $0.damagedImages }),
        count(
            "decodes-per-client", \.decodesPerClient, 1...1024,
            "Images of one client that are decoded at a time while others wait (default: a quarter of the processors, at least 1)."
        ),
    ]

    private static let limits: [Setting] = [
        count("max-url-length", \.maxURLLength, 64...65_536, "Bytes of a request target. More: 414."),
        bytes(
            "max-header-size", \.maxHeaderSize, atLeast: 512,
            "Bytes of a request's head, the most that many origins take. More: 431."),
        count("max-header-fields", \.maxHeaderFields, 4...10_000, "Fields of a request's head. More: 431."),
        bytes("max-request-body", \.maxRequestBody, atLeast: 0, "Bytes of a request's content. More: 413."),
        bytes(
            "max-request-bodies", \.maxRequestBodies, atLeast: 0,
            "Bytes of all requests' contents at a time. More: 503."),
        bytes(
            "max-request-bodies-per-client", \.maxRequestBodiesPerClient, atLeast: 0,
            "The same, of one client (default: a quarter, at least max-request-body). More: 429."),
        count("max-connections", \.maxConnections, 1...1_000_000, "Clients' connections at a time. More: 503."),
        count(
            "max-connections-per-client", \.maxConnectionsPerClient, 1...1_000_000,
            "The same, of one client (default: a quarter). More: 429."),
        count("max-requests", \.maxRequests, 1...1_000_000, "Requests at a time that memory does not answer.")
            .reloadable,
        count(
            "max-requests-per-client", \.maxRequestsPerClient, 1...1_000_000,
            "The same, of one client (default: a quarter)."
        ).reloadable,
        count("queue-length", \.queueLength, 0...1_000_000, "Requests that wait for their turn. More: 503.").reloadable,
        count(
            "queue-length-per-client", \.queueLengthPerClient, 1...1_000_000,
            "The same, of one client (default: a quarter). More: 429."
        ).reloadable,
        count("retry-after", \.retryAfter, 0...86_400, "Seconds that such a 503 or 429 asks to wait.").reloadable,
        list(
            "trusted-proxies", "BLOCK,…", \.trustedProxies,
            "Proxies in front, as addresses or blocks (10.0.0.0/8), whose Forwarded or X-Forwarded-For tells the client."
        ) { AddressBlock($0) == nil ? "is no address or block of addresses" : nil },
    ]

    private static let times: [Setting] = [
        time("header-timeout", \.headerTimeout, "Until a request's head is whole. Then: 408."),
        time("body-timeout", \.bodyTimeout, "Without a byte of a request's content. Then: 408."),
        bytes(
            "min-request-rate", \.minRequestRate, atLeast: 0,
            "Bytes a second of a request's content, on average after 10 s. Slower: 408. 0: any."),
        time("idle-timeout", \.idleTimeout, "Between two requests of a connection."),
        time("write-timeout", \.writeTimeout, "Without a client taking another 256 KiB of its answer."),
        bytes(
            "min-response-rate", \.minResponseRate, atLeast: 0,
            "Bytes a second that a client takes of its answer, on average after 10 s. Slower: closed. 0: any."),
        time("grace-period", \.gracePeriod, "For requests under way when the server is told to stop."),
    ]

    private static let running: [Setting] = [
        count("threads", \.threads, 1...256, "Event loops that serve clients."),
        Setting(
            name: "access-log", placeholder: "FILE",
            help: "One JSON object a line for each request; \"-\": standard output, \"off\": none.",
            read: { text, configuration in
                switch text {
                case "": return "is empty"
                case "off": configuration.accessLog = .off
                case "-": configuration.accessLog = .standardOutput
                default: configuration.accessLog = .file(text)
                }
                return nil
            }, text: { $0.accessLog.settingText }, copy: { $1.accessLog = $0.accessLog }),
        Setting(
            name: "log-level", placeholder: "LEVEL",
            help: "trace, debug, info, notice, warning, error or critical; to standard error.", isReloadable: true,
            read: { text, configuration in
                guard let level = Logger.Level(rawValue: text) else {
                    return "is none of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                }
                configuration.logLevel = level
                return nil
            }, text: { $0.logLevel.rawValue }, copy: { $1.logLevel = $0.logLevel }),
        text(
            "admin-token", "TOKEN", \.adminToken, "What purging wants as Authorization: Bearer. Better kept in a file."
        )
        .secret.reloadable,
        text("admin-token-file", "FILE", \.adminTokenFile, "The file that holds the token.") { fileProblem($0) }
            .reloadable,
    ]

    private static func address(_ name: String, _ place: Place<ListenAddress>, _ help: String) -> Setting {
        Setting(
            name: name, placeholder: "HOST:PORT", help: help,
            read: { text, configuration in
                guard let address = ListenAddress(text) else { return "is no HOST:PORT" }
                configuration[keyPath: place] = address
                return nil
            }, text: { $0[keyPath: place].description }, copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    /// Returns the problem with an origin's URL, nil when there is none.
    private static func originProblem(_ text: String) -> String? {
        let url: HTTPURL
        do throws(InvalidURL) { url = try HTTPURL(text) } catch {
            switch error.reason {
            case .notAbsolute, .scheme: return "is no http or https URL"
            case .host, .port, .internationalName: return "names no host"
            case .controlCharacter, .percent: return unfitOrigin
            }
        }
        guard HostField.isValid(url.authority.utf8) else { return "names no host" }
        let isPlain = text.utf8.allSatisfy { ByteClass.target.contains($0) && $0 != UInt8(ascii: "?") }
        return isPlain ? nil : unfitOrigin
    }

    private static let unfitOrigin = "has a query, a fragment or a character that must be percent-encoded"

    /// Returns the problem with a file that must be readable, nil when there is none.
    private static func fileProblem(_ path: String) -> String? {
        access(path, R_OK) == 0 ? nil : "cannot be read: " + String(cString: strerror(errno))
    }

    private static func keyFileProblem(_ path: String) -> String? {
        do throws(SigningKeyError) {
            _ = try SigningKeys(file: path)
            return nil
        } catch {
            return "cannot be used: \(error)"
        }
    }

    private static func hostProblem(_ text: String) -> String? {
        let host = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
        return AddressPolicy.Endpoint(authority: host, scheme: "https") == nil ? "is no host, or host and port" : nil
    }
}

extension AccessLog.Destination {
    fileprivate var settingText: String {
        switch self {
        case .off: "off"
        case .standardOutput: "-"
        case .file(let path): path
        }
    }
}
