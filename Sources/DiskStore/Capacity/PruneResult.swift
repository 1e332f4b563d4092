/// The entries that were, or would be, removed.
public struct PruneResult: Sendable, Equatable {
    public var entries: Int
    /// The space that they occupied. It is free as soon as they have no readers.
    public var bytes: Int64

    public static let nothing = PruneResult(entries: 0, bytes: 0)

    public init(entries: Int, bytes: Int64) {
        self.entries = entries
        self.bytes = bytes
    }
}
