/// The order of a listing.
public enum EntryOrder: Sendable, CaseIterable {
    /// By last use, the least recently used first: the order of eviction.
    case age
    /// By the body's size on disk, the smallest first.
    case size
    case url
    /// By creation, the oldest first.
    case created
}
