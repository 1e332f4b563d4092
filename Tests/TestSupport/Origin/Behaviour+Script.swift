extension Behaviour {
    /// The answer to `request` by RFC 9110 sections 13 (conditions) and 14 (ranges), with this behaviour's faults.
    public func script(for request: ReceivedRequest) -> [OriginStep] {
        var steps: [OriginStep] = []
        if let gate { steps.append(.wait(for: gate)) }
        if let bytesPerSecond { steps.append(.throttle(bytesPerSecond: bytesPerSecond)) }
        let isHead = request.method == "HEAD"
        if let status {
            return steps + page(status, isHead: isHead)
        }
        if isNotModified(for: request) {
            return steps + [.head(status: 304, fields: describing() + fields)]
        }
        guard request.method == "GET", let asked = range(of: request) else {
            return steps + whole(isHead: isHead)
        }
        guard asked.lowerBound < representation.size else {
            return steps + unsatisfiable(total: unsatisfiableNamesTotal ? representation.size : nil)
        }
        return steps + partial(asked)
    }

    // MARK: - Answers

    private func page(_ status: Int, isHead: Bool) -> [OriginStep] {
        let text = status == 304 || status == 204 ? "" : "The scripted origin answers \(status).\n"
        var head: [(name: String, value: String)] = [("Date", httpDate(date))]
        if !text.isEmpty { head += [("Content-Type", "text/plain"), ("Content-Length", "\(text.utf8.count)")] }
        return [.head(status: status, fields: head + fields), .body(isHead ? [] : Array(text.utf8))]
    }

    private func whole(isHead: Bool) -> [OriginStep] {
        let size = representation.size
        var head = describing()
        if acceptsRanges { head.append(("Accept-Ranges", "bytes")) }
        if let contentEncoding { head.append(("Content-Encoding", contentEncoding)) }
        switch framing {
        case .contentLength:
            head.append(("Content-Length", "\(size)"))
            return [.head(status: 200, fields: head + fields)] + (isHead ? [] : body(0..<size))
        case .lyingContentLength(let difference):
            head.append(("Content-Length", "\(size + difference)"))
            return [.head(status: 200, fields: head + fields)] + body(0..<size) + [.cut(reset: false)]
        case .chunked:
            head.append(("Transfer-Encoding", "chunked"))
            let sent = cutAfter.map { min($0, size) } ?? size
            return [
                .head(status: 200, fields: head + fields),
                .chunks(representation.content, 0..<sent, chunkSize: 10_000),
                cutAfter != nil ? .cut(reset: cutsByReset) : .raw("0\r\n\r\n"),
            ]
        case .untilClose:
            head.append(("Connection", "close"))
            return [.head(status: 200, fields: head + fields)] + body(0..<size) + [.cut(reset: false)]
        }
    }

    private func partial(_ asked: Range<Int64>) -> [OriginStep] {
        var range = asked
        var unit = "bytes"
        var total = "\(representation.size)"
        var described = describing()
        var sentEnd: Int64?
        switch rangeFault {
        case nil, .missingContentRange:
            break
        case .ignored:
            return whole(isHead: false)
        case .shifted(let start, let end):
            let lower = max(asked.lowerBound + start, 0)
            range = lower..<max(asked.upperBound + end, lower)
        case .atMost(let count):
            range = asked.lowerBound..<min(asked.upperBound, asked.lowerBound + count)
        case .total(let difference):
            total = difference.map { "\(representation.size + $0)" } ?? "*"
        case .unit(let other):
            unit = other
        case .etag(let etag):
            described.removeAll { $0.name == "ETag" }
            if let etag { described.append(("ETag", etag)) }
        case .multipart:
            return multipart(asked)
        case .status(let status):
            return page(status, isHead: false)
        case .unsatisfiable(let total):
            return unsatisfiable(total: total)
        case .short(let missing):
            sentEnd = max(asked.upperBound - missing, asked.lowerBound)
        }
        described.append(("Content-Length", "\(range.count)"))
        if let contentEncoding { described.append(("Content-Encoding", contentEncoding)) }
        if case .missingContentRange = rangeFault {
        } else {
            described.append(("Content-Range", "\(unit) \(range.lowerBound)-\(range.upperBound - 1)/\(total)"))
        }
        let head = OriginStep.head(status: 206, fields: described + fields)
        if let sentEnd { return [head] + body(range.lowerBound..<sentEnd) + [.cut(reset: false)] }
        return [head] + body(range)
    }

    private func multipart(_ range: Range<Int64>) -> [OriginStep] {
        let size = representation.size
        let open =
            "--part\r\nContent-Type: \(representation.contentType)\r\n"
            + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)\r\n\r\n"
        let close = "\r\n--part--\r\n"
        let described = describing().filter { $0.name != "Content-Type" }
        return [
            .head(
                status: 206,
                fields: described + [
                    ("Content-Type", "multipart/byteranges; boundary=part"),
                    ("Content-Length", "\(open.utf8.count + range.count + close.utf8.count)"),
                ] + fields),
            .body(Array(open.utf8)), .content(representation.content, range), .body(Array(close.utf8)),
        ]
    }

    private func unsatisfiable(total: Int64?) -> [OriginStep] {
        var head: [(name: String, value: String)] = [("Date", httpDate(date)), ("Content-Length", "0")]
        if let etag = representation.etag { head.append(("ETag", etag)) }
        if let total { head.append(("Content-Range", "bytes */\(total)")) }
        return [.head(status: 416, fields: head + fields)]
    }

    /// A stretch of the content with the cut, stall or gate that is set.
    private func body(_ range: Range<Int64>) -> [OriginStep] {
        let content = representation.content
        func upTo(_ count: Int64) -> Range<Int64> {
            range.lowerBound..<min(range.lowerBound + count, range.upperBound)
        }
        if let cutAfter, cutAfter < Int64(range.count) {
            return [.content(content, upTo(cutAfter)), .cut(reset: cutsByReset)]
        }
        if let stallAfter, stallAfter < Int64(range.count) {
            return [.content(content, upTo(stallAfter)), .stall]
        }
        if let bodyGate, bodyGate.after < Int64(range.count) {
            let first = upTo(bodyGate.after)
            return [
                .content(content, first), .wait(for: bodyGate.gate),
                .content(content, first.upperBound..<range.upperBound),
            ]
        }
        return [.content(content, range)]
    }

    private func describing() -> [(name: String, value: String)] {
        var described: [(name: String, value: String)] = [
            ("Date", httpDate(date)), ("Content-Type", representation.contentType),
        ]
        if let etag = representation.etag { described.append(("ETag", etag)) }
        if let lastModified = representation.lastModified {
            described.append(("Last-Modified", httpDate(lastModified)))
        }
        if let cacheControl = representation.cacheControl { described.append(("Cache-Control", cacheControl)) }
        return described + representation.fields
    }

    // MARK: - Conditions and ranges

    /// RFC 9110 sections 13.1.2 and 13.1.3: If-None-Match compares weakly and outranks If-Modified-Since.
    private func isNotModified(for request: ReceivedRequest) -> Bool {
        if let condition = request["if-none-match"] {
            guard let etag = representation.etag else { return false }
            let opaque = Self.opaque(etag)
            return condition.split(separator: ",").contains {
                let tag = $0.drop { $0 == " " }
                return tag == "*" || Self.opaque(String(tag)) == opaque
            }
        }
        guard let condition = request["if-modified-since"], let lastModified = representation.lastModified else {
            return false
        }
        return condition == httpDate(lastModified)
    }

    private static func opaque(_ etag: String) -> String {
        etag.hasPrefix("W/") ? String(etag.dropFirst(2)) : etag
    }

    /// The one range that is asked for, when If-Range (section 13.1.5: strong comparison only) lets it count.
    private func range(of request: ReceivedRequest) -> Range<Int64>? {
        guard let field = request["range"], field.hasPrefix("bytes="), !field.contains(",") else { return nil }
        if let condition = request["if-range"] {
            let isEqual =
                condition.hasPrefix("\"")
                ? condition == representation.etag
                : representation.lastModified.map { httpDate($0) == condition } ?? false
            if !isEqual { return nil }
        }
        let bounds = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        if bounds[0].isEmpty {
            guard let suffix = Int64(bounds[1]) else { return nil }
            return max(representation.size - suffix, 0)..<representation.size
        }
        guard let start = Int64(bounds[0]) else { return nil }
        let end = Int64(bounds[1]).map { min($0 + 1, representation.size) } ?? representation.size
        return start..<max(end, start)
    }
}
