package import Digests

/// One file of a list of downloads.
package struct ListedDownload: Sendable, Equatable {
    /// A URL that the file can be got from.
    package struct Source: Sendable, Equatable {
        package var url: String
        /// Lower goes first; 1 to 999,999 (RFC 5854 section 4.2.16.2).
        package var priority: Int

        /// The priority of a source that has none.
        package static let lastPriority = 999_999

        package init(_ url: String, priority: Int = Source.lastPriority) {
            self.url = url
            self.priority = priority
        }
    }

    /// An additional request field.
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The URLs of the file, the best first. Never empty.
    package var sources: [Source]
    /// The file's path below the folder that the files are put into. Without `..`, empty parts and control characters.
    package var output: String?
    /// The file's length in bytes.
    package var size: Int64?
    package var digests: [Digest] = []
    package var pieces: PieceDigests?
    package var fields: [Field] = []
    /// Where the list names it.
    package var position: ListPosition?

    /// The strongest digest.
    package var digest: Digest? { digests.max { $0.algorithm.byteCount < $1.algorithm.byteCount } }

    package init(_ url: String, position: ListPosition? = nil) {
        sources = [Source(url)]
        self.position = position
    }

    init(_ sources: [Source], position: ListPosition) {
        self.sources = sources
        self.position = position
    }
}

/// A place in a list.
package struct ListPosition: Sendable, Equatable, CustomStringConvertible {
    package var file: String
    /// Counted from 1.
    package var line: Int

    package init(_ file: String, line: Int) {
        self.file = file
        self.line = line
    }

    /// `list.txt:3`, as compilers write it.
    package var description: String { "\(file):\(line)" }
}

/// The reason why a list cannot be taken, and where.
package struct ListError: Error, Equatable, CustomStringConvertible {
    package var position: ListPosition
    package var message: String

    package init(_ position: ListPosition, _ message: String) {
        self.position = position
        self.message = message
    }

    package var description: String { "\(position): \(message)" }
}
