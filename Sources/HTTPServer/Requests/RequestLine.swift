import HTTPTypes

/// The first line of a request (RFC 9112 section 3): exactly `method SP request-target SP HTTP-version`.
struct RequestLine: Hashable {
    var method: HTTPRequest.Method
    var target: RequestHead.Target
    /// The authority of an absolute-form.
    var authority: String?
    var scheme: String?
    var minorVersion: Int

    /// - Parameter line: The line without its CRLF.
    init(_ line: Span<UInt8>, limits: RequestLimits) throws(RequestError) {
        var methodEnd = 0
        while methodEnd < line.count, ByteClass.token.contains(line[methodEnd]) { methodEnd += 1 }
        guard methodEnd > 0, methodEnd <= 64, methodEnd < line.count, line[methodEnd] == .space else {
            throw .bad("bad-request-line", "The request line does not begin with a method and one space.")
        }
        let targetStart = methodEnd + 1
        var targetEnd = targetStart
        while targetEnd < line.count, ByteClass.target.contains(line[targetEnd]) { targetEnd += 1 }
        guard targetEnd > targetStart else {
            throw .bad("bad-target", "The request target is empty, or begins with what may not be in one.")
        }
        guard targetEnd < line.count else {
            throw .bad("bad-version", "The request line ends without a version; HTTP/0.9 is not spoken here.")
        }
        guard line[targetEnd] == .space else {
            throw .bad("bad-target", "The request target holds a character that must be percent-encoded.")
        }
        guard targetEnd - targetStart <= limits.target else { throw Self.targetTooLong(limits) }
        minorVersion = try Self.minorVersion(line.extracting((targetEnd + 1)...))
        let method = Self.method(line.extracting(..<methodEnd))
        self.method = method
        (target, authority, scheme) = try Self.target(line.extracting(targetStart..<targetEnd), of: method)
    }

    static func targetTooLong(_ limits: RequestLimits) -> RequestError {
        RequestError(
            status: 414, code: "target-too-long",
            message: "The request target is longer than \(limits.target) bytes.")
    }

    private static func method(_ bytes: Span<UInt8>) -> HTTPRequest.Method {
        if bytes.count == 3, bytes[0] == UInt8(ascii: "G"), bytes[1] == UInt8(ascii: "E"), bytes[2] == UInt8(ascii: "T")
        {
            return .get
        }
        return HTTPRequest.Method(bytes.text(0..<bytes.count)) ?? .get
    }

    private static func minorVersion(_ bytes: Span<UInt8>) throws(RequestError) -> Int {
        let name = "HTTP/".utf8
        guard bytes.count == 8, zip(name, 0...).allSatisfy({ bytes[$1] == $0 }),
            let major = bytes[5].digitValue, bytes[6] == UInt8(ascii: "."), let minor = bytes[7].digitValue
        else { throw .bad("bad-version", "The request line does not end in HTTP/1.1.") }
        guard major == 1 else {
            throw RequestError(status: 505, code: "version", message: "Only HTTP/1.1 and HTTP/1.0 are supported.")
        }
        // RFC 9110 section 2.5: a higher minor version is treated as the highest one known.
        return min(minor, 1)
    }

    /// The four forms of RFC 9112 section 3.2.
    private static func target(
        _ bytes: Span<UInt8>, of method: HTTPRequest.Method
    ) throws(RequestError) -> (RequestHead.Target, authority: String?, scheme: String?) {
        if method == .connect {
            throw RequestError(status: 501, code: "connect", message: "CONNECT is not supported.")
        }
        if bytes[0] == UInt8(ascii: "/") { return (.path(bytes.text(0..<bytes.count)), nil, nil) }
        if bytes.count == 1, bytes[0] == UInt8(ascii: "*") {
            guard method == .options else { throw .bad("bad-target", "Only OPTIONS can be about the whole server.") }
            return (.server, nil, nil)
        }
        return try absolute(bytes.text(0..<bytes.count), of: method)
    }

    private static func absolute(
        _ text: String, of method: HTTPRequest.Method
    ) throws(RequestError) -> (RequestHead.Target, authority: String?, scheme: String?) {
        let scheme = text.utf8.prefix { $0 != .colon }
        let name = String(Substring(scheme)).lowercased()
        let rest = text.utf8.dropFirst(scheme.count)
        guard name == "http" || name == "https", rest.starts(with: "://".utf8) else {
            throw .bad("bad-target", "The request target is neither a path nor an http or https URL.")
        }
        let afterScheme = rest.dropFirst(3)
        let authority = afterScheme.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard !authority.isEmpty, HostField.isValid(authority) else {
            throw .bad("bad-target", "The request target's host is not one.")
        }
        let path = String(Substring(afterScheme.dropFirst(authority.count)))
        let host = String(Substring(authority))
        if path.isEmpty {
            // RFC 9112 section 3.2.4: the form in which a proxy receives OPTIONS for the whole server.
            return (method == .options ? .server : .path("/"), host, name)
        }
        return (.path(path.utf8.first == UInt8(ascii: "/") ? path : "/" + path), host, name)
    }
}
