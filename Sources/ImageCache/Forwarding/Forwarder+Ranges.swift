import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension Forwarder {
    /// The most ranges of one request that are answered one by one. RFC 9110 section 14.2 permits to ignore the field.
    private static let mostRanges = 16

    /// The response to a request for several ranges: `multipart/byteranges` (RFC 9110 section 14.6), each part as if it had been requested alone.
    /// `nil` to ignore the ranges: there are too many, they overlap, or they are of different versions.
    func responseByParts(to request: FileRequest) async throws(ImageCacheError) -> ForwardedResponse? {
        guard request.method == .get, let ranges = ByteRange.several(request.fields), ranges.count <= Self.mostRanges
        else { return nil }
        // The first response tells whether the representation is divided at all.
        let first = try await response(to: request, ranges[0])
        guard [.partialContent, .rangeNotSatisfiable].contains(first.head.status) else { return first }
        var responses: [Int: ForwardedResponse] = [0: first]
        do {
            try await withThrowingTaskGroup(of: (Int, ForwardedResponse).self) { group in
                for place in 1..<ranges.count {
                    group.addTask(executorPreference: fetcher.executor) {
                        (place, try await self.response(to: request, ranges[place]))
                    }
                }
                for try await (place, response) in group { responses[place] = response }
            }
        } catch {
            throw ImageCacheError(any: error)
        }
        var parts: [(range: Range<Int64>, response: ForwardedResponse)] = []
        var version: RepresentationVersion?
        for place in ranges.indices {
            guard let response = responses[place] else { return nil }
            if response.head.status == .rangeNotSatisfiable { continue }
            let fields = response.head.headerFields
            guard response.head.status == .partialContent,
                case .range(let bytes, let total) = ContentRange(fields), response.body?.length == Int64(bytes.count)
            else { return nil }
            let own = RepresentationVersion(fields, length: total)
            guard version ?? own == own, !parts.contains(where: { $0.range.overlaps(bytes) }) else { return nil }
            version = own
            parts.append((bytes, response))
        }
        guard let one = parts.first?.response else { return first }
        return parts.count == 1 ? one : Self.multipart(parts.map(\.response), as: one)
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
