import CLibcurl
import HTTPSemantics
import HTTPTypes

/// A checked request with its fields in libcurl's format. It is prepared on the caller's thread to relieve the engine's.
///
/// `@unchecked Sendable`: immutable after `init`. libcurl only reads the header lists, on the engine's thread, and `deinit` frees them after the
/// last reference is released.
final class PreparedRequest: @unchecked Sendable {
    let checked: CheckedRequest
    /// The key of the limit per host: the URL's origin.
    let host: String
    /// The fields of a request for the whole body at the URL's own origin.
    let headers: UnsafeMutablePointer<curl_slist>?
    /// The fields for the proxy. They are not sent if there is no proxy (RFC 9110 section 11.7.2).
    let proxyHeaders: UnsafeMutablePointer<curl_slist>?

    var url: HTTPURL { checked.url }
    private var request: TransferRequest { checked.request }
    private var content: [UInt8]? { checked.content }

    init(_ request: TransferRequest) throws(TransferError) {
        checked = try CheckedRequest(request)
        host = checked.url.origin
        headers = Self.headerList(request, sendsContent: checked.content != nil)
        proxyHeaders = request.fields[fields: .proxyAuthorization].reduce(nil) { Self.appending($1, to: $0) }
    }

    deinit {
        clibcurl_slist_free(headers)
        clibcurl_slist_free(proxyHeaders)
    }

    /// The fields of one request of the transfer, if they differ from ``headers``. The caller must free them.
    ///
    /// - Parameter conditions: Preconditions about held bytes or a stored body.
    func ownHeaders(for hop: Hop, adding conditions: HTTPFields) -> UnsafeMutablePointer<curl_slist>? {
        if conditions.isEmpty, hop.isOwnOrigin, hop.sendsContent == (content != nil) { return nil }
        var request = request
        if !hop.isOwnOrigin {
            request.fields[.authorization] = nil
            request.fields[.cookie] = nil
            // Names the own origin. libcurl would also send that origin's cookies.
            request.fields[.host] = nil
            request.originFields = [:]
        }
        if content != nil, !hop.sendsContent {
            for name in [HTTPField.Name.contentType, .contentEncoding, .contentLanguage, .contentLocation] {
                request.fields[name] = nil
            }
        }
        for field in conditions { request.fields[field.name] = field.value }
        return Self.headerList(request, sendsContent: hop.sendsContent)
    }

    private static func headerList(
        _ request: TransferRequest, sendsContent: Bool
    ) -> UnsafeMutablePointer<curl_slist>? {
        let acceptsCoding = request.options.acceptsContentCoding
        var list: UnsafeMutablePointer<curl_slist>?
        let own = request.originFields
        for field in request.fields where own.isEmpty || !own.contains(field.name) {
            switch field.name {
            case .contentLength, .transferEncoding, .proxyAuthorization: continue
            case .acceptEncoding where !acceptsCoding: continue
            default: break
            }
            list = appending(field, to: list)
        }
        for field in own { list = appending(field, to: list) }
        if !acceptsCoding { list = clibcurl_slist_append(list, "Accept-Encoding: identity") }
        // "Name:" prevents libcurl from adding its own field: only the caller knows the type of the content, and forwarded requests get no
        // additional fields.
        if sendsContent, !request.fields.contains(.contentType), !own.contains(.contentType) {
            list = clibcurl_slist_append(list, "Content-Type:")
        }
        if request.options.forwardsErrorResponses, !request.fields.contains(.accept), !own.contains(.accept) {
            list = clibcurl_slist_append(list, "Accept:")
        }
        // Prevents a wait for "100 Continue" before the content is sent.
        if sendsContent { list = clibcurl_slist_append(list, "Expect:") }
        return list
    }

    private static func appending(
        _ field: HTTPField, to list: UnsafeMutablePointer<curl_slist>?
    ) -> UnsafeMutablePointer<curl_slist>? {
        // The value is sent unchanged: it need not be text (obs-text, RFC 9110 section 5.5).
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
