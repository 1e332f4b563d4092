public import HTTPTypes

/// A representation that responds as an origin does: to a range with 206, to several with all bytes, to its validators
/// with 304 (RFC 9110 sections 13 and 14).
public struct ScriptedRepresentation: Sendable {
    public var bytes: [UInt8]
    /// The entity tag, with its quotes.
    public var etag: String?
    /// Further response fields, such as `Cache-Control`.
    public var fields: HTTPFields

    public init(_ bytes: [UInt8], etag: String? = "\"1\"", _ fields: HTTPFields = [.cacheControl: "max-age=60"]) {
        self.bytes = bytes
        self.etag = etag
        self.fields = fields
    }

    /// Returns `count` bytes, which are different for each seed.
    public static func bytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        var words: [UInt64] = []
        words.reserveCapacity(count / 8 + 1)
        for _ in 0..<count / 8 + 1 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            words.append(state ^ state >> 29)
        }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }

    /// The response to a request for this representation.
    public func response(to request: ScriptedRequest) -> ScriptedResponse {
        var fields = fields
        if let etag { fields[.eTag] = etag }
        if let etag, let asked = request.fields[.ifNoneMatch], asked == "*" || asked.contains(etag) {
            return ScriptedResponse(.notModified, fields, steps: [], length: nil)
        }
        if request.method == .head { return ScriptedResponse(.ok, fields, steps: [], length: bytes.count) }
        guard let range = request.fields[.range], !range.contains(","),
            request.fields[.ifRange].map({ $0 == etag }) ?? true
        else {
            return ScriptedResponse(.ok, fields, body: bytes)
        }
        guard let part = part(range) else {
            fields[.contentRange] = "bytes */\(bytes.count)"
            return ScriptedResponse(.rangeNotSatisfiable, fields)
        }
        fields[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(bytes.count)"
        return ScriptedResponse(.partialContent, fields, body: Array(bytes[part]))
    }

    /// The bytes selected by a `Range` field; `nil` if there are none.
    private func part(_ range: String) -> Range<Int>? {
        let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty, let count = Int(ends[1]), count > 0 { return max(0, bytes.count - count)..<bytes.count }
        guard let first = Int(ends[0]), first < bytes.count else { return nil }
        guard let last = Int(ends[1]) else { return ends[1].isEmpty ? first..<bytes.count : nil }
        return first <= last ? first..<min(bytes.count - 1, last) + 1 : nil
    }
}
