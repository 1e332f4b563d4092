public import Digests

/// One file of a list of downloads.
public struct ListedDownload: Sendable, Equatable {
    /// A URL that the file can be got from.
    public struct Source: Sendable, Equatable {
        public var url: String
        /// Lower goes first; 1 to 999,999 (RFC 5854 section 4.2.16.2).
        public var priority: Int

        /// The priority of a source that has none.
        public static let lastPriority = 999_999

        public init(_ url: String, priority: Int = Source.lastPriority) {
            self.url = url
            self.priority = priority
        }
    }

    /// A request field of its own.
    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The best first; never empty.
    public var sources: [Source]
    /// The file's path below the folder that the files are put into. Without `..`, empty parts and control characters.
    public var output: String?
    /// The file's length in bytes.
    public var size: Int64?
    public var digests: [Digest] = []
    public var pieces: PieceDigests?
    public var fields: [Field] = []
    /// Where the list names it.
    public var position: ListPosition?

    /// The strongest digest.
    public var digest: Digest? { digests.max { $0.algorithm.byteCount < $1.algorithm.byteCount } }

    public init(_ url: String, position: ListPosition? = nil) {
        sources = [Source(url)]
        self.position = position
    }

    init(_ sources: [Source], position: ListPosition) {
        self.sources = sources
        self.position = position
    }
}

/// A place in a list.
public struct ListPosition: Sendable, Equatable, CustomStringConvertible {
    public var file: String
    /// Counted from 1.
    public var line: Int

    public init(_ file: String, line: Int) {
        self.file = file
        self.line = line
    }

    /// `list.txt:3`, as compilers write it.
    public var description: String { "\(file):\(line)" }
}

/// The reason why a list cannot be taken, and where.
public struct ListError: Error, Equatable, CustomStringConvertible {
    public var position: ListPosition
    public var message: String

    init(_ position: ListPosition, _ message: String) {
        self.position = position
        self.message = message
    }

    public var description: String { "\(position): \(message)" }
}
