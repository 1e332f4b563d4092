import CLibcurl
import HTTPTypes
import Synchronization

/// A request that was checked and taken apart on the caller's thread, so that the engine's has less to do.
///
/// `@unchecked Sendable`: nothing changes after `init`; libcurl only reads the header list, on the engine's thread,
/// and `deinit` frees it when nobody holds the object any more.
final class PreparedRequest: @unchecked Sendable {
    let request: TransferRequest
    /// What libcurl gets: put together by its own parser, without user, password and fragment.
    let url: String
    /// The limit per host counts by this.
    let host: String
    let credentials: TransferOptions.Credentials?
    /// The request's content. Empty where a method means something by having some (RFC 9110 section 8.6): its length, 0, is sent.
    let content: [UInt8]?
    /// Fields of every attempt.
    let headers: UnsafeMutablePointer<curl_slist>?
    /// Fields for the proxy: without one they are sent to nobody (RFC 9110 section 11.7.2).
    let proxyHeaders: UnsafeMutablePointer<curl_slist>?
    /// A coding that the caller asked for is not resumable.
    let mayResume: Bool
    /// A cancellation may overtake the order to start: it is noted here before it is posted.
    let isCancelled = Atomic(false)

    init(_ request: TransferRequest) throws(TransferError) {
        let parsed = try ParsedURL(request.url)
        self.request = request
        url = parsed.url
        host = URLText.origin(of: parsed.url)
        credentials = request.options.credentials ?? parsed.credentials
        content = request.body ?? ([.post, .put, .patch].contains(request.method) ? [] : nil)
        let hasOwnRange = request.fields.contains(.range) || request.fields.contains(.ifRange)
        mayResume =
            request.method == .get && request.body == nil && !request.options.acceptsContentCoding && !hasOwnRange
        for name in [HTTPField.Name.range, .ifRange]
        where request.fields.contains(name) && !request.options.passesEveryStatus {
            throw TransferError(
                .invalidRequest, url: parsed.url, "the field \(name) is the transfer's own; it cannot be requested")
        }
        headers = Self.headerList(request, hasContent: content != nil)
        proxyHeaders = request.fields[fields: .proxyAuthorization].reduce(nil) { Self.appending($1, to: $0) }
    }

    deinit {
        clibcurl_slist_free(headers)
        clibcurl_slist_free(proxyHeaders)
    }

    private static func headerList(
        _ request: TransferRequest, hasContent: Bool
    ) -> UnsafeMutablePointer<curl_slist>? {
        let acceptsCoding = request.options.acceptsContentCoding
        var list: UnsafeMutablePointer<curl_slist>?
        for field in request.fields {
            switch field.name {
            case .contentLength, .transferEncoding, .proxyAuthorization: continue
            case .acceptEncoding where !acceptsCoding: continue
            default: break
            }
            list = appending(field, to: list)
        }
        if !acceptsCoding { list = clibcurl_slist_append(list, "Accept-Encoding: identity") }
        // "Name:" keeps libcurl from adding a field of its own: nobody else knows what kind of content it is, and what is
        // passed on gets nothing added.
        if hasContent, !request.fields.contains(.contentType) { list = clibcurl_slist_append(list, "Content-Type:") }
        if request.options.passesEveryStatus, !request.fields.contains(.accept) {
            list = clibcurl_slist_append(list, "Accept:")
        }
        // No wait for "100 Continue" before the content is sent.
        if hasContent { list = clibcurl_slist_append(list, "Expect:") }
        return list
    }

    private static func appending(
        _ field: HTTPField, to list: UnsafeMutablePointer<curl_slist>?
    ) -> UnsafeMutablePointer<curl_slist>? {
        // The value as it is: it need not be text (obs-text, RFC 9110 section 5.5).
        field.withUnsafeBytesOfValue { value in
            var line = Array(field.name.rawName.utf8)
            line.reserveCapacity(line.count + value.count + 3)
            // "Name;" is libcurl's way to send a field without a value; "Name:" would remove one.
            line.append(contentsOf: value.isEmpty ? ";".utf8 : ": ".utf8)
            line.append(contentsOf: value)
            line.append(0)
            return line.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) { text in
                    text.baseAddress.flatMap { clibcurl_slist_append(list, $0) }
                }
            }
        }
    }
}

/// A URL as libcurl understands it: one parser for the check and for the connection.
struct ParsedURL {
    var url: String
    var credentials: TransferOptions.Credentials?

    init(_ text: String) throws(TransferError) {
        let shown = URLText.withoutUserinfo(text)
        guard let handle = clibcurl_url() else { throw TransferError(.libcurl, url: shown, "out of memory") }
        defer { clibcurl_url_cleanup(handle) }
        // A NUL would end the text for libcurl, and only for libcurl.
        guard !text.utf8.contains(0) else {
            throw TransferError(.unsupportedURL, url: shown, "not a URL that can be fetched: it has a NUL in it")
        }
        let code = clibcurl_url_set(
            handle, CURLUPART_URL, text, UInt32(CURLU_URLENCODE) | UInt32(CURLU_NON_SUPPORT_SCHEME))
        guard code == CURLUE_OK else {
            let reason = String(cString: clibcurl_url_strerror(code))
            throw TransferError(.unsupportedURL, url: shown, "not a URL that can be fetched: \(reason)")
        }
        let scheme = Self.part(handle, CURLUPART_SCHEME) ?? ""
        guard scheme == "http" || scheme == "https" else {
            throw TransferError(.unsupportedURL, url: shown, "only http and https are fetched, not '\(scheme)'")
        }
        if text.utf8.contains(0x40), let user = Self.part(handle, CURLUPART_USER, UInt32(CURLU_URLDECODE)) {
            let password = Self.part(handle, CURLUPART_PASSWORD, UInt32(CURLU_URLDECODE)) ?? ""
            credentials = .init(user: user, password: password)
            for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS] {
                clibcurl_url_set(handle, part, nil, 0)
            }
        }
        clibcurl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        guard var url = Self.part(handle, CURLUPART_URL) else {
            throw TransferError(.unsupportedURL, url: shown, "not a URL that can be fetched")
        }
        // libcurl leaves an empty query out here, and sends it all the same when the URL has one: it is another resource.
        if url.utf8.last != UInt8(ascii: "?"), URLText.hasEmptyQuery(text) { url += "?" }
        self.url = url
    }

    /// Host and port of a URL; nil for what is none.
    static func endpoint(of url: String) -> AddressPolicy.Endpoint? {
        guard let handle = clibcurl_url() else { return nil }
        defer { clibcurl_url_cleanup(handle) }
        guard clibcurl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK, let host = part(handle, CURLUPART_HOST),
            let port = part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) })
        else { return nil }
        return AddressPolicy.Endpoint(host: host, port: port)
    }

    private static func part(_ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard clibcurl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { clibcurl_free(text) }
        return String(cString: text)
    }
}
