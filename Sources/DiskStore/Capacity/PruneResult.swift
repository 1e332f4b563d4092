/// The entries that were, or would be, removed.
package struct PruneResult: Sendable, Equatable {
    package var entries: Int
    /// The space that they occupied. It is free as soon as they have no readers.
    package var bytes: Int64
    /// Partial downloads that were removed with them because they match, which are not among the bytes.
    package var partials = 0

    package static let nothing = PruneResult(entries: 0, bytes: 0)

    package init(entries: Int, bytes: Int64) {
        self.entries = entries
        self.bytes = bytes
    }
}
