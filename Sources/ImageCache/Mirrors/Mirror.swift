/// Another URL under which an origin serves the same file.
public struct Mirror: Sendable, Hashable {
    public var url: String
    /// Lower values are tried first. The request's own URL has priority 1 unless it is listed as a mirror with another priority.
    public var priority: Int

    public init(_ url: String, priority: Int = 1) {
        self.url = url
        self.priority = priority
    }
}

/// An event about the mirrors of a request. URLs are without userinfo.
public enum MirrorEvent: Sendable, Equatable {
    /// A mirror failed, and another one is tried.
    case putAside(url: String, reason: String)
    /// The digest of a piece does not match (RFC 5854 section 4.1.3), and the piece is fetched again on its own.
    case badPiece(url: String, index: Int, Range<Int64>)
    /// The piece was received with the right digest from this mirror.
    case repairedPiece(url: String, index: Int)
}
