import Glibc
import HTTPServer
import ImageCache
import ImageProxy
import Logging
import URLSigning

extension Setting {
    /// All settings, in the order of the help.
    static let all: [(title: String, settings: [Setting])] = [
        ("Service", served), ("The cache", caching), ("The origin", origins),
        ("Other machines", remote), ("Images", images),
        ("Options of images", imageOptions.map(\.perOrigin)),
        ("Images that fail", imageFailures.map(\.perOrigin)),
        ("Limits", limits), ("Time", times), ("Running it", running), ("Traces", traces),
    ]

    static func named(_ name: String) -> Setting? {
        for (_, settings) in all {
            for setting in settings where setting.name == name { return setting }
        }
        return nil
    }

    private static let served: [Setting] = [
        text(
            "origin", "URL", \.origin,
            "The origin's URL, such as https://images.example.com, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, or file:///FOLDER; a user and password in it are sent to the origin. Required without origins in the file."
        ) {
            OriginLocation.problem($0)
        }.reloadable,
        address("listen", \.listen, "The address for clients; port 0 selects a free port."),
        list(
            "public-hosts", "HOST,…", \.publicHosts,
            "Host names of the service, for absolute request targets and IIIF; *.example.com for all subdomains."
        ) { hostProblem($0) }.reloadable,
        text("health-path", "PATH", \.healthPath, "A path at the clients' address that is 200 while the process lives.")
        {
            healthPathProblem($0)
        },
        text(
            "ready-path", "PATH", \.readyPath,
            "A path at the clients' address that is 200 when the service is ready, otherwise 503, as /readyz is."
        ) { healthPathProblem($0) },
        Setting(
            name: "admin", placeholder: "HOST:PORT",
            help: "The address of metrics, health, purging and the admin page; \"off\": none.",
            read: { text, configuration in
                if text == "off" {
                    configuration.admin = nil
                } else {
                    guard let address = ListenAddress(text) else { return "must be HOST:PORT" }
                    configuration.admin = address
                }
                return nil
            }, text: { $0.admin?.description ?? "off" }, copy: { $1.admin = $0.admin }),
        list("admin-hosts", "HOST,…", \.adminHosts, "Host names of the admin listener in addition to localhost.") {
            hostNameProblem($0)
        },
    ]

    private static let caching: [Setting] = [
        text(
            "cache-dir", "DIR", \.cacheDirectory,
            "The store's directory; created if it does not exist. As for the command, IMGCACHE_DIR and XDG_CACHE_HOME change the default, and without a home it is /var/tmp/imgcache-UID."
        ),
        bytes(
            "capacity", \.capacity, atLeast: StoreConfiguration.minimumCapacity,
            "The capacity of the store on disk (default: the remembered one, else 20GiB, at most half of the free space)."
        ),
        flag(
            "discard-newer", \.discardsNewer,
            "Replace a store that a newer version made by an empty one. Otherwise the service ends with exit code 6."),
        bytes(
            "memory-capacity", \.memoryCapacity, atLeast: 0,
            "The memory for images and small files; a quarter of it, at most 32 MiB, for files."),
        count(
            "max-variants", \.maxVariants, 1...100_000,
            "The number of stored variants of one URL (Vary); the least recently used are evicted."),
    ]

    private static let images: [Setting] =
        imagesPerOrigin.map(\.perOrigin) + [
            choice(
                "isolate-decoders", \.decoderIsolation,
                "Decode images in worker processes, which may open nothing. If none can be started, on answers 503, optional decodes in the service's own process."
            ),
            count(
                "decodes-per-client", \.decodesPerClient, 1...1024,
                "The number of concurrent decodes for one client while others wait (default: a quarter of the processors, at least 1). The decoding memory is limited likewise."
            ),
            text(
                "url-style", URLStyle.Name.allCases.map(\.rawValue).joined(separator: "|"), \.urlStyle,
                "Also read the image URLs of this other service, in its place."
            ) { name in
                URLStyle.Name(rawValue: name) == nil
                    ? "must be one of \(URLStyle.Name.allCases.map(\.rawValue).joined(separator: ", "))" : nil
            }.reloadable,
            text(
                "url-style-keys", "FILE", \.urlStyleKeys,
                "The file with the keys of that service, one a line; imgproxy's are KEY SALT in hexadecimal. Default: its signatures are not checked."
            ) { fileProblem($0) }.reloadable,
        ]

    private static let imagesPerOrigin: [Setting] = [
        list(
            "allow-hosts", "HOST,…", \.allowedHosts,
            "Other hosts of originals; *.example.com for all subdomains."
        ) {
            hostProblem($0)
        }.reloadable,
        list(
            "signing-key-files", "FILE,…", \.signingKeyFiles,
            "Files with the keys for signed image URLs, one id:base64 a line (see imgcache sign). Default: signatures not required."
        ) { keyFileProblem($0) }.reloadable,
        bytes("max-image-bytes", \.maxImageBytes, atLeast: 1, "The greatest size of an original.")
            .reloadable,
        count(
            "max-pixels", \.maxPixels, 1...2_000_000_000,
            "The greatest number of pixels of an original, and of an image."
        )
        .reloadable,
        count("max-frames", \.maxFrames, 1...65_535, "The greatest number of frames of an animation.").reloadable,
        count(
            "max-animation-pixels", \.maxAnimationPixels, 1...2_000_000_000,
            "The greatest number of pixels of all frames of an animation together."
        )
        .reloadable,
        time(
            "max-animation-duration", \.maxAnimationDuration, "The longest time for which an animation is shown once."
        )
        .reloadable,
        time("image-timeout", \.imageTimeout, "The CPU time for one image, from its header to encoding.").reloadable,
        time(
            "image-max-age", \.imageMaxAge, mayBeZero: true,
            "The lifetime that clients are told for images, except for no-store, no-cache, private and signatures that expire sooner; 0: the original's."
        ).reloadable,
        time(
            "image-stale-while-revalidate", \.imageStaleWhileRevalidate, mayBeZero: true,
            "The time after it for which clients may show an image while they validate it (RFC 5861); 0: as the original says."
        ).reloadable,
        Setting(
            name: "damaged", placeholder: "serve|refuse",
            help: "Images of damaged originals: served with a lifetime of one minute, or refused with 422.",
            isReloadable: true,
            read: { text, configuration in
                guard let damaged = DamagedImages(rawValue: text) else { return "must be serve or refuse" }
                configuration.damagedImages = damaged
                return nil
            }, text: { $0.damagedImages.rawValue }, copy: { $1.damagedImages = $0.damagedImages }),
    ]

    private static let limits: [Setting] = [
        count(
            "max-url-length", \.maxURLLength, 64...65_536,
            "The greatest length of a request target in bytes. Beyond: 414."),
        bytes(
            "max-header-size", \.maxHeaderSize, atLeast: 512,
            "The greatest size of a request's head with its target, the limit of many origins. Beyond: 431."),
        count(
            "max-header-fields", \.maxHeaderFields, 4...10_000,
            "The greatest number of fields of a request. Beyond: 431."),
        bytes(
            "max-request-body", \.maxRequestBody, atLeast: 0, "The greatest size of a request's content. Beyond: 413."),
        bytes(
            "max-request-bodies", \.maxRequestBodies, atLeast: 0,
            "The greatest size of all contents held at a time. Beyond: 503."),
        bytes(
            "max-request-bodies-per-client", \.maxRequestBodiesPerClient, atLeast: 0,
            "The limit for one client (default: a quarter, at least max-request-body). Beyond: 429."),
        count(
            "max-connections", \.maxConnections, 1...1_000_000,
            "The number of concurrent connections; fewer if the limit of open files is low, which is logged. Beyond: 503."
        ),
        count(
            "max-connections-per-client", \.maxConnectionsPerClient, 1...1_000_000,
            "The limit for one client (default: a quarter). Beyond: 429."),
        count(
            "max-requests", \.maxRequests, 1...1_000_000,
            "The number of concurrent requests that are not served from memory."
        )
        .reloadable,
        count(
            "max-requests-per-client", \.maxRequestsPerClient, 1...1_000_000,
            "The limit for one client (default: a quarter)."
        ).reloadable,
        count("queue-length", \.queueLength, 0...1_000_000, "The number of waiting requests. Beyond: 503.").reloadable,
        count(
            "queue-length-per-client", \.queueLengthPerClient, 1...1_000_000,
            "The limit for one client (default: a quarter). Beyond: 429."
        ).reloadable,
        count("retry-after", \.retryAfter, 0...86_400, "Retry-After of these 503 and 429 responses, in seconds.")
            .reloadable,
        list(
            "trusted-proxies", "BLOCK,…", \.trustedProxies,
            "Proxies in front, as addresses or blocks (10.0.0.0/8), whose Forwarded, X-Forwarded-For and, for IIIF, X-Forwarded-Proto are trusted."
        ) { AddressBlock($0) == nil ? "must be an address or a block of addresses" : nil },
    ]

    private static let times: [Setting] = [
        time("header-timeout", \.headerTimeout, "The time until a request's head is complete. Then: 408."),
        time("body-timeout", \.bodyTimeout, "The time without a byte of a request's content. Then: 408."),
        bytes(
            "min-request-rate", \.minRequestRate, atLeast: 0,
            "The minimum rate of a request's content a second, averaged after 10 s. Below: 408. 0: none."),
        time("idle-timeout", \.idleTimeout, "The time between two requests of a connection."),
        time("write-timeout", \.writeTimeout, "The time in which a client must accept another 256 KiB of a response."),
        bytes(
            "min-response-rate", \.minResponseRate, atLeast: 0,
            "The minimum rate of a response a second, averaged after 10 s. Below: closed. 0: none."),
        time("grace-period", \.gracePeriod, "The time for running requests during a shutdown."),
    ]

    private static let running: [Setting] = [
        count("threads", \.threads, 1...256, "The number of event loops for clients."),
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
            help: "The level of messages on standard error: trace, debug, info, notice, warning, error or critical.",
            isReloadable: true,
            read: { text, configuration in
                guard let level = Logger.Level(rawValue: text) else {
                    return "must be one of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                }
                configuration.messages.level = level
                return nil
            }, text: { $0.messages.level.rawValue }, copy: { $1.messages.level = $0.messages.level }),
        choice(
            "log-format", \.messages.format,
            "The form of messages on standard error: a sentence with its values, or a JSON object a line."
        ).reloadable,
        text(
            "admin-token", "TOKEN", \.adminToken,
            "The token for purging, as Authorization: Bearer. Preferably kept in a file."
        )
        .secret.reloadable,
        text("admin-token-file", "FILE", \.adminTokenFile, "The file with the token.") { fileProblem($0) }
            .reloadable,
    ]

    private static func address(_ name: String, _ place: Place<ListenAddress>, _ help: String) -> Setting {
        Setting(
            name: name, placeholder: "HOST:PORT", help: help,
            read: { text, configuration in
                guard let address = ListenAddress(text) else { return "must be HOST:PORT" }
                configuration[keyPath: place] = address
                return nil
            }, text: { $0[keyPath: place].description }, copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    /// Returns the problem with a file that must be readable, or nil if there is none.
    static func fileProblem(_ path: String) -> String? {
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

    static func healthPathProblem(_ text: String) -> String? {
        guard text.hasPrefix("/"), text != "/", text.utf8.allSatisfy(ByteClass.target.contains), !text.contains("?")
        else {
            return "must be a path, such as /healthz"
        }
        return text.hasPrefix("/image/") ? "must not be below /image/" : nil
    }

    /// Returns the problem with a host name without a port, or nil if there is none.
    private static func hostNameProblem(_ text: String) -> String? {
        let problem = "must be a host name without a port and a *"
        guard let field = HostField(text.utf8), field.port == nil else { return problem }
        guard case .name(let name) = field.host else { return nil }
        return name == text.lowercased() ? nil : problem
    }

    static func hostProblem(_ text: String) -> String? {
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
