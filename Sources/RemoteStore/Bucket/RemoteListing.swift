package import FoundationEssentials
import HTTPSemantics
import XMLParsing

/// An object in the listing of a remote store.
package struct RemoteListing: Sendable, Hashable {
    /// The key without the prefix of the store.
    package var key: String
    /// The length in bytes.
    package var size: Int64
    /// The time at which the object was stored, by the store's clock.
    package var modified: Date?

    package init(key: String, size: Int64, modified: Date?) {
        self.key = key
        self.size = size
        self.modified = modified
    }
}

/// A page of a listing (ListObjectsV2).
struct ListingPage: Sendable {
    var objects: [RemoteListing] = []
    /// The token of the next page, or nil if this is the last one.
    var continuation: String?

    /// Returns nil if the bytes are not a listing.
    ///
    /// - Parameter prefix: The prefix of the store's keys, which is removed. Keys without it are skipped.
    init?(_ document: [UInt8], prefix: String) throws(XMLReader.Failure) {
        let result = try XMLElement.parse(document)
        guard result.name == "ListBucketResult" else { return nil }
        let isEncoded = result.text(of: "EncodingType") == "url"
        for entry in result.children("Contents") {
            guard let text = entry.text(of: "Key"), let size = entry.text(of: "Size").flatMap({ Int64($0) }) else {
                return nil
            }
            guard let key = Self.key(text, isEncoded: isEncoded, prefix: prefix) else { continue }
            let modified = entry.text(of: "LastModified").flatMap(Self.date)
            objects.append(RemoteListing(key: key, size: size, modified: modified))
        }
        if result.text(of: "IsTruncated") == "true" { continuation = result.text(of: "NextContinuationToken") }
    }

    private static func key(_ text: String, isEncoded: Bool, prefix: String) -> String? {
        // Some stores encode a space as a plus sign, others leave plus signs unencoded.
        let readings = isEncoded ? [text.replacing("+", with: " "), text].map(decoded) : [text]
        return readings.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    private static func decoded(_ text: String) -> String {
        String(decoding: PercentEncoding.decoded(Array(text.utf8)), as: UTF8.self)
    }

    /// `2026-11-23T04:05:06.000Z`, with or without a fraction.
    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
