import Glibc
package import HTTPTypes

extension HTTPField.Name {
    /// The name that bytes spell; `nil` if they are not a name.
    package init?(spelling bytes: UnsafeRawBufferPointer) {
        for (known, name) in Self.frequent where known.utf8CodeUnitCount == bytes.count {
            if let start = bytes.baseAddress, memcmp(start, known.utf8Start, bytes.count) == 0 {
                self = name
                return
            }
        }
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// Field names of nearly every response, in the usual spellings: no string is created or checked for these.
    private static let frequent: [(StaticString, HTTPField.Name)] = [
        ("Date", .date), ("date", .date), ("ETag", .eTag), ("etag", .eTag), ("Server", .server), ("server", .server),
        ("Content-Type", .contentType), ("content-type", .contentType), ("Content-Length", .contentLength),
        ("content-length", .contentLength), ("Last-Modified", .lastModified), ("last-modified", .lastModified),
        ("Connection", .connection), ("Accept-Ranges", .acceptRanges), ("accept-ranges", .acceptRanges),
        ("Cache-Control", .cacheControl), ("cache-control", .cacheControl), ("Content-Range", .contentRange),
        ("content-range", .contentRange), ("Vary", .vary), ("vary", .vary), ("Expires", .expires), ("Age", .age),
    ]
}
