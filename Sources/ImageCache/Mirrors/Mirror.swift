/// Another URL under which an origin serves the same file.
public struct Mirror: Sendable, Hashable {
    public var url: String
    /// Lower goes first. The request's own URL has priority 1, unless the mirrors name it too.
    public var priority: Int

    public init(_ url: String, priority: Int = 1) {
        self.url = url
        self.priority = priority
    }
}

/// An event among the mirrors of a request. URLs are without user and password.
public enum MirrorEvent: Sendable, Equatable {
    /// A mirror failed, and another one is asked.
    case putAside(url: String, reason: String)
    /// A piece that a mirror sent has another digest (RFC 5854 section 4.1.3); it is fetched again by itself.
    case badPiece(url: String, index: Int, Range<Int64>)
    /// The piece came right, from that mirror.
    case repairedPiece(url: String, index: Int)
}
