import HTTPSemantics
import HTTPTypes

extension RequestHead {
    /// Combines the request line and the fields, if they are consistent.
    init(_ line: RequestLine, fields: HTTPFields, limits: RequestLimits) throws(RequestError) {
        method = line.method
        target = line.target
        minorVersion = line.minorVersion
        self.fields = fields
        framing = .none
        keepsAlive = line.minorVersion == 1
        expectsContinue = false
        authority = line.authority
        scheme = line.scheme

        var facts = FieldSummary()
        for field in fields { try facts.note(field) }
        try checkHost(facts)
        framing = try framing(facts, limits)
        if facts.closes { keepsAlive = false } else if facts.asksToKeepAlive { keepsAlive = true }
        if let expectation = facts.expectation {
            // RFC 9110 section 10.1.1: an expectation of an HTTP/1.0 client is ignored.
            guard expectation.lowercased() == "100-continue" else {
                throw RequestError(
                    status: 417, code: "expectation", message: "The only supported expectation is 100-continue.")
            }
            expectsContinue = minorVersion == 1 && framing != .none
        }
    }

    /// The values of relevant fields, and their number of occurrences.
    private struct FieldSummary {
        var hosts = 0
        var host: String?
        var contentLengths = 0
        var contentLength = ""
        var transferEncodings = 0
        var transferEncoding = ""
        var closes = false
        var asksToKeepAlive = false
        var expectation: String?

        mutating func note(_ field: HTTPField) throws(RequestError) {
            switch field.name.canonicalName {
            case "host":
                hosts += 1
                host = field.value
            case "content-length":
                contentLengths += 1
                contentLength = field.value
            case "transfer-encoding":
                transferEncodings += 1
                transferEncoding = field.value
            case "connection":
                for option in ListedTokens(field.value) {
                    switch option.lowercased() {
                    case "close": closes = true
                    case "keep-alive": asksToKeepAlive = true
                    default: break
                    }
                }
            case "expect": expectation = field.value
            default: break
            }
        }
    }

    /// RFC 9112 section 3.2: exactly one valid Host. HTTP/1.0 did not require it.
    private mutating func checkHost(_ facts: FieldSummary) throws(RequestError) {
        guard facts.hosts <= 1 else { throw .bad("hosts", "There is more than one Host field.") }
        guard let host = facts.host else {
            guard minorVersion == 0 else { throw .bad("no-host", "There is no Host field.") }
            return
        }
        guard HostField.isValid(host.utf8) else { throw .bad("bad-host", "The Host field is invalid.") }
        if authority == nil { authority = host }
    }

    /// RFC 9112 section 6.3. Where it lets a recipient repair a request, this one refuses it: another recipient on the
    /// way may have read it differently.
    private func framing(_ facts: FieldSummary, _ limits: RequestLimits) throws(RequestError) -> Framing {
        let framing: Framing
        if facts.transferEncodings > 0 {
            framing = try transferCoding(facts)
        } else if facts.contentLengths > 0 {
            framing = try length(facts, limits)
        } else {
            framing = .none
        }
        // RFC 9110 section 9.3.1: such content has no meaning, and is used for request smuggling.
        if framing != .none, method == .get || method == .head || method == .trace {
            throw .bad("content", "\(method.rawValue) has no content.")
        }
        return framing
    }

    private func transferCoding(_ facts: FieldSummary) throws(RequestError) -> Framing {
        guard facts.contentLengths == 0 else {
            throw .bad("two-lengths", "There are both Content-Length and Transfer-Encoding.")
        }
        guard minorVersion == 1 else { throw .bad("transfer-coding", "HTTP/1.0 has no Transfer-Encoding.") }
        guard facts.transferEncodings == 1 else {
            throw .bad("transfer-coding", "There is more than one Transfer-Encoding field.")
        }
        if facts.transferEncoding.lowercased() == "chunked" { return .chunked }
        let codings = facts.transferEncoding.split(separator: ",", omittingEmptySubsequences: false).map {
            String($0.drop { $0 == " " || $0 == "\t" }).lowercased()
        }
        let isOrderly = codings.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(ByteClass.token.contains) }
        guard isOrderly, codings.last == "chunked", codings.filter({ $0 == "chunked" }).count == 1 else {
            throw .bad(
                "transfer-coding", "The last transfer coding is not chunked, or does not have the form of RFC 9112.")
        }
        throw RequestError(
            status: 501, code: "transfer-coding", message: "The only supported transfer coding is chunked.")
    }

    private func length(_ facts: FieldSummary, _ limits: RequestLimits) throws(RequestError) -> Framing {
        guard facts.contentLengths == 1 else {
            throw .bad("two-lengths", "There is more than one Content-Length field.")
        }
        guard !facts.contentLength.isEmpty, facts.contentLength.utf8.allSatisfy({ $0.digitValue != nil }) else {
            throw .bad("bad-length", "The Content-Length is not one decimal number.")
        }
        guard facts.contentLength.utf8.count <= 18, let length = Int(facts.contentLength) else {
            throw .bad("bad-length", "The Content-Length is larger than any content can be.")
        }
        guard length <= limits.body else { throw RequestError.contentTooLarge(limits) }
        return length == 0 ? .none : .length(length)
    }
}

extension RequestError {
    static func contentTooLarge(_ limits: RequestLimits) -> RequestError {
        RequestError(
            status: 413, code: "content-too-large",
            message: "The request's content is larger than \(limits.body) bytes.")
    }
}
