import CLibcurl
import Glibc
import HTTPSemantics
import HTTPTypes

/// The size of the buffer into which libcurl reads with one system call. It passes on at most 16 KiB at a time.
///
/// A large buffer saves system calls for a large body: with 512 KiB, it takes 0.65 of the time of the default. All buffers together have about
/// 2 MiB, because many transfers at a time are mostly small, and the memory of each buffer is new to the process.
private func receiveBufferSize(among transfers: Int, rateLimit: Int64?) -> Int {
    let share = min(512 << 10, max(32 << 10, (2 << 20) / max(transfers, 1)))
    // A rate-limited transfer reads small pieces for an even flow. libcurl requires at least 1 KiB.
    return rateLimit.map { max(1024, min(Int(clamping: $0 / 8), share)) } ?? share
}

extension RunningTransfer {
    /// - Parameter transfers: The number of transfers of the engine, with those that wait.
    func configure(
        _ handle: EasyHandle, for request: OutgoingRequest, headers: UnsafeMutablePointer<curl_slist>?,
        among transfers: Int
    ) {
        let options = options
        let hop = request.hop
        let context = Unmanaged.passUnretained(self).toOpaque()
        handle.set(CURLOPT_PRIVATE, pointer: context)
        clibcurl_setopt_data_callback(handle.easy, CURLOPT_HEADERFUNCTION, onHeader)
        handle.set(CURLOPT_HEADERDATA, pointer: context)
        clibcurl_setopt_data_callback(handle.easy, CURLOPT_WRITEFUNCTION, onBody)
        handle.set(CURLOPT_WRITEDATA, pointer: context)
        handle.set(CURLOPT_NOSIGNAL, true)
        // A cancelled transfer does not wait for its name resolution.
        handle.set(CURLOPT_QUICK_EXIT, true)
        handle.set(CURLOPT_BUFFERSIZE, receiveBufferSize(among: transfers, rateLimit: options.rateLimit))
        handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        if request.usesFreshConnection { handle.set(CURLOPT_FRESH_CONNECT, true) }
        _ = handle.set(CURLOPT_URL, hop.url.text)
        // libcurl 8.8 and later omits an empty query unless the request target is set.
        if hop.url.hasEmptyQuery, goesStraight(hop) {
            _ = handle.set(CURLOPT_REQUEST_TARGET, String(hop.url.target))
        }
        clibcurl_setopt_list(handle.easy, CURLOPT_HTTPHEADER, headers)
        if let proxyHeaders = prepared.proxyHeaders {
            clibcurl_setopt_list(handle.easy, CURLOPT_PROXYHEADER, proxyHeaders)
        }
        if let range = request.range { _ = handle.set(CURLOPT_RANGE, range) }
        allowOnlyHTTP(handle)
        // For https, libcurl waits for a connection in progress to find out if it can be multiplexed.
        if hop.url.scheme == .https, !options.isSegment { handle.set(CURLOPT_PIPEWAIT, true) }
        // Streams of one connection would share its losses and its limits.
        if options.isSegment { handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) }
        setMethod(handle, hop)
        setLimits(handle, request.timeLeft)
        setIdentity(handle, options, hop.credentials)
        judgeAddresses(handle, context)
        if let proxy = options.proxy { _ = handle.set(CURLOPT_PROXY, proxy) }
        if let file = options.cookieFile { handle.useCookies(of: file, after: cookies) }
        if hop.isOwnOrigin, let certificate = options.clientCertificate {
            _ = handle.set(CURLOPT_SSLCERT, certificate.path)
            if let key = certificate.privateKey { _ = handle.set(CURLOPT_SSLKEY, key) }
            // Without one, OpenSSL would ask for it on the terminal.
            _ = handle.set(CURLOPT_KEYPASSWD, certificate.passphrase ?? "")
        }
        if let caFile = options.caFile { _ = handle.set(CURLOPT_CAINFO, caFile) }
        if options.insecure {
            handle.set(CURLOPT_SSL_VERIFYPEER, false)
            handle.set(CURLOPT_SSL_VERIFYHOST, false)
        }
        if options.reportsHeads {
            handle.set(CURLOPT_VERBOSE, true)
            clibcurl_setopt_debug_callback(handle.easy, onDebug)
            handle.set(CURLOPT_DEBUGDATA, pointer: context)
        }
    }

    /// True if no proxy receives the whole URL in the request line (RFC 9112 section 3.2.2).
    private func goesStraight(_ hop: Hop) -> Bool {
        if hop.url.scheme == .https || addressPolicy.judges { return true }
        if let proxy = options.proxy { return proxy.isEmpty }
        return getenv("http_proxy") == nil && getenv("all_proxy") == nil && getenv("ALL_PROXY") == nil
    }

    private func allowOnlyHTTP(_ handle: EasyHandle) {
        guard handle.set(CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_UNKNOWN_OPTION else { return }
        // Before libcurl 7.85.
        handle.set(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP | CURLPROTO_HTTPS))
    }

    private func setMethod(_ handle: EasyHandle, _ hop: Hop) {
        // If a reused connection fails without a response, libcurl repeats the request, regardless of its method. Unsafe requests use a new
        // connection, where this does not happen: libcurl must not decide if they may be repeated (RFC 9110 section 9.2.2).
        if !hop.method.isSafe { handle.set(CURLOPT_FRESH_CONNECT, true) }
        if hop.sendsContent, let body = prepared.checked.content {
            // libcurl copies the content, which is small, for the duration of the handle's transfer.
            handle.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(body.count))
            body.withUnsafeBytes { bytes in
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                if let start { handle.set(CURLOPT_COPYPOSTFIELDS, pointer: start) }
            }
            if body.isEmpty { _ = handle.set(CURLOPT_POSTFIELDS, "") }
        }
        switch hop.method {
        case .get where !hop.sendsContent, .post: break
        case .head: handle.set(CURLOPT_NOBODY, true)
        default: _ = handle.set(CURLOPT_CUSTOMREQUEST, hop.method.rawValue)
        }
    }

    private func setLimits(_ handle: EasyHandle, _ timeLeft: Duration?) {
        // libcurl would replace 0 by its own default.
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, max(1, options.connectTimeout.milliseconds))
        if let timeLeft { handle.set(CURLOPT_TIMEOUT_MS, max(1, timeLeft.milliseconds)) }
    }

    private func setIdentity(
        _ handle: EasyHandle, _ options: TransferOptions, _ credentials: TransferOptions.Credentials?
    ) {
        // HTTPField removes line ends from the text, so that no field can be injected.
        let own = options.forwardsErrorResponses ? "" : "imgcache"
        let agent = HTTPField(name: .userAgent, value: options.userAgent ?? own).value
        if !agent.isEmpty { _ = handle.set(CURLOPT_USERAGENT, agent) }
        if let credentials {
            handle.set(CURLOPT_HTTPAUTH, clibcurl_auth_basic)
            _ = handle.set(CURLOPT_USERNAME, credentials.user)
            _ = handle.set(CURLOPT_PASSWORD, credentials.password)
        }
        switch options.netrc {
        case .off: break
        case .default: handle.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
        case .path(let path):
            handle.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
            _ = handle.set(CURLOPT_NETRC_FILE, path)
        }
    }
}

// MARK: Callbacks. libcurl makes them on the engine's thread, inside curl_multi_perform and curl_easy_pause only.

private func transfer(_ context: UnsafeMutableRawPointer?) -> Unmanaged<RunningTransfer>? {
    context.map { Unmanaged<RunningTransfer>.fromOpaque($0) }
}

private let onHeader: clibcurl_data_callback = { data, size, count, context in
    let line = UnsafeRawBufferPointer(start: data, count: size * count)
    guard let transfer = transfer(context) else { return 0 }
    return transfer._withUnsafeGuaranteedRef { $0.receiveHead(line: line) } == .accepted ? line.count : 0
}

private let onBody: clibcurl_data_callback = { data, size, count, context in
    let bytes = UnsafeRawBufferPointer(start: data, count: size * count)
    guard !bytes.isEmpty else { return 0 }
    guard let transfer = transfer(context) else { return 0 }
    switch transfer._withUnsafeGuaranteedRef({ $0.receiveBody(bytes) }) {
    case .accepted: return bytes.count
    case .pause: return Int(CURL_WRITEFUNC_PAUSE)
    case .stop: return 0
    }
}

private let onDebug: clibcurl_debug_callback = { _, kind, data, count, context in
    guard kind == CURLINFO_HEADER_OUT, let transfer = transfer(context) else { return 0 }
    let lines = MaskedHead.lines(UnsafeRawBufferPointer(start: data, count: count))
    transfer._withUnsafeGuaranteedRef { $0.events(.requestHead(lines)) }
    return 0
}
