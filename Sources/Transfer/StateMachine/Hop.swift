import HTTPSemantics
package import HTTPTypes

/// One request of a transfer: the first one, or one that a redirect leads to (RFC 9110 section 15.4).
///
/// Redirects are followed here and not by libcurl. Each is judged before its host's name is resolved, and its body is limited. Preconditions about
/// held bytes are sent only to the resource that those bytes came from.
struct Hop {
    let url: HTTPURL
    let method: HTTPRequest.Method
    /// True if the request's content is sent.
    let sendsContent: Bool
    /// True if the request goes to the transfer's own origin. Credentials and cookies are sent only there.
    let isOwnOrigin: Bool
    let credentials: TransferOptions.Credentials?

    /// Host and port, as an ``AddressPolicy`` judges them.
    var endpoint: AddressPolicy.Endpoint { AddressPolicy.Endpoint(host: url.host, port: url.port) }

    init(first request: CheckedRequest) {
        url = request.url
        method = request.request.method
        sendsContent = request.content != nil
        isOwnOrigin = true
        credentials = request.credentials
    }

    /// The next request after a redirect to `location`.
    init(
        after status: Int, to location: String, from hop: Hop, of request: CheckedRequest
    ) throws(InvalidURL) {
        url = try HTTPURL(reference: location, relativeTo: hop.url)
        let becomesGet = hop.method.becomesGet(after: status)
        method = becomesGet ? .get : hop.method
        sendsContent = hop.sendsContent && !becomesGet
        isOwnOrigin = url.hasSameOrigin(as: request.url)
        credentials = TransferOptions.Credentials(userinfoOf: url) ?? (isOwnOrigin ? request.credentials : nil)
    }
}

extension HTTPRequest.Method {
    /// Returns true if the next request after a redirect is a GET without content. As in all clients, this holds for a POST after 301 and 302, and
    /// for all methods but HEAD after 303.
    package func becomesGet(after status: Int) -> Bool {
        switch status {
        case 301, 302: self == .post
        case 303: self != .head
        default: false
        }
    }
}

extension TransferOptions.Credentials {
    /// The credentials in a URL; `nil` if there are none.
    init?(userinfoOf url: HTTPURL) {
        guard let userinfo = url.userinfo, !userinfo.isEmpty else { return nil }
        let parts = userinfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            user: Self.decoded(parts[0]), password: parts.count > 1 ? Self.decoded(parts[1]) : "")
    }

    private static func decoded(_ text: Substring) -> String {
        String(decoding: PercentEncoding.decoded(text.utf8), as: UTF8.self)
    }
}

extension HTTPFields {
    /// The target of a redirect as text; bytes that are not UTF-8 are percent-encoded. `nil` for an empty one.
    var redirectLocation: String? {
        guard let field = first(where: { $0.name == .location }) else { return nil }
        return field.withUnsafeBytesOfValue { bytes in
            if bytes.isEmpty { return nil }
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            var text: [UInt8] = []
            for byte in bytes {
                if byte < 0x80 { text.append(byte) } else { PercentEncoding.append(byte, to: &text) }
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
}
