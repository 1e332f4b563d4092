import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension Forwarder {
    /// The most ranges of one request that are answered one by one. RFC 9110 section 14.2 permits to ignore the field.
    private static let mostRanges = 16

    /// The response to a request for several ranges: `multipart/byteranges` (RFC 9110 section 14.6), each part as if it had been requested alone.
    /// `nil` to ignore the ranges: there are too many, they overlap, they may be of different versions, or a part would be passed through. Bodies
    /// that are passed through hold their connections until they are read, and parts are read one after the other.
    func responseByParts(to request: FileRequest) async throws(ImageCacheError) -> ForwardedResponse? {
        guard request.method == .get, let ranges = ByteRange.several(request.fields), ranges.count <= Self.mostRanges
        else { return nil }
        // The first response tells whether the representation is divided at all, and its length.
        var first: ForwardedResponse? = try await response(to: request, ranges[0])
        guard let head = first?.head, [.partialContent, .rangeNotSatisfiable].contains(head.status) else {
            return first
        }
        guard let total = ContentRange(head.headerFields)?.total else { return nil }
        var wanted: [(range: ByteRange, bytes: Range<Int64>)] = []
        for range in ranges {
            guard let bytes = range.resolved(length: total) else { continue }
            guard !wanted.contains(where: { $0.bytes.overlaps(bytes) }) else { return nil }
            wanted.append((range, bytes))
        }
        if wanted.isEmpty { return first }
        var responses: [Int: ForwardedResponse] = [:]
        if head.status == .partialContent {
            if wanted.count == 1 { return first }
            responses[0] = first
        }
        first = nil
        if wanted.count == 1 { return try await response(to: request, wanted[0].range) }
        guard responses[0]?.body?.isPassedThrough != true else { return nil }
        do {
            try await withThrowingTaskGroup(of: (Int, ForwardedResponse).self) { group in
                for place in wanted.indices where responses[place] == nil {
                    let range = wanted[place].range
                    group.addTask(executorPreference: fetcher.executor) {
                        (place, try await self.response(to: request, range))
                    }
                }
                for try await (place, response) in group { responses[place] = response }
            }
        } catch {
            throw ImageCacheError(any: error)
        }
        let parts = wanted.indices.compactMap { responses[$0] }
        guard parts.count == wanted.count,
            zip(parts, wanted).allSatisfy({ $0.isPart($1.bytes, of: total) }), Self.areOfOneVersion(parts)
        else { return nil }
        return Self.multipart(parts, as: parts[0])
    }

    /// True if the responses have equal validators that prove it (RFC 9110 section 8.8.1), or are from one stored body.
    private static func areOfOneVersion(_ parts: [ForwardedResponse]) -> Bool {
        let fields = parts.map(\.head.headerFields)
        let versions = fields.map { RepresentationVersion($0, length: ContentRange($0)?.total) }
        guard versions.allSatisfy({ $0 == versions[0] }) else { return false }
        if fields.allSatisfy({ ValidatorFields($0).isStrong }) { return true }
        let bodies = Set(parts.map { $0.body?.stored?.file?.body.entry.id })
        return bodies.count == 1 && !bodies.contains(nil)
    }

    private func response(
        to request: FileRequest, _ range: ByteRange
    ) async throws(ImageCacheError) -> ForwardedResponse {
        var single = request
        single.fields[.range] = "bytes=\(range.text)"
        return try await response(to: single)
    }

    private static func multipart(
        _ responses: [ForwardedResponse], as first: ForwardedResponse
    ) -> ForwardedResponse {
        let boundary = (0..<3).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
        var parts: [ForwardedBody.Part] = []
        var length: Int64 = 0
        for response in responses {
            var prefix = (parts.isEmpty ? "" : "\r\n") + "--\(boundary)\r\n"
            for name in [HTTPField.Name.contentType, .contentRange] {
                if let value = response.head.headerFields[name] { prefix += "\(name): \(value)\r\n" }
            }
            let part = ForwardedBody.Part(prefix: Array((prefix + "\r\n").utf8), body: response.body)
            length += Int64(part.prefix.count) + (response.body?.length ?? 0)
            parts.append(part)
        }
        let end = ForwardedBody.Part(prefix: Array("\r\n--\(boundary)--\r\n".utf8), body: nil)
        parts.append(end)
        length += Int64(end.prefix.count)
        var head = first.head
        head.headerFields = CacheRules.asWhole(head.headerFields, length: length)
        head.headerFields[.contentType] = "multipart/byteranges; boundary=\(boundary)"
        // Cache-Status describes the first part that was not answered from the store.
        let handled = responses.first { !$0.cacheStatus.hit } ?? first
        head.headerFields[.cacheStatus] = handled.head.headerFields[.cacheStatus]
        return ForwardedResponse(head: head, ForwardedBody(.parts(parts), length: length), handled.cacheStatus)
    }
}

extension ForwardedResponse {
    /// True if the response is a 206 with exactly these bytes, and is not passed through.
    fileprivate func isPart(_ bytes: Range<Int64>, of total: Int64) -> Bool {
        head.status == .partialContent && ContentRange(head.headerFields) == .range(bytes, total: total)
            && body?.length == Int64(bytes.count) && body?.isPassedThrough == false
    }
}
