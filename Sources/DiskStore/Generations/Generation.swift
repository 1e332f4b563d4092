/// The state of one resource at one moment: which invalidations and changes of its entries had happened by then, in any
/// process on the directory.
///
/// Whoever begins to fill the store, or takes something from it into memory, reads the generation first. What arrives is
/// stored only if the resource has not been invalidated since (``epoch``); what is in memory is used only while nothing of
/// the resource has changed (``DiskStore/isCurrent(_:)``).
///
/// Resources that differ after a question mark alone are invalidated together: a URL and all its queries.
///
/// Two resources may share a slot: a change of one then looks like one of the other, which costs a look at the index.
public struct Generation: Sendable, Hashable {
    /// The invalidations alone. What began in one epoch is not handed to those who ask in a later one.
    public struct Epoch: Sendable, Hashable {
        let slot: Int
        /// Changes when all of the store, or some of it that cannot be named, is invalidated.
        let everything: UInt64
        /// Changes when the resource is invalidated.
        let invalidation: UInt64
    }

    public let epoch: Epoch
    let slot: Int
    /// Changes when an entry of the resource is replaced, removed or gets other metadata.
    let change: UInt64
}

/// What an invalidation is about.
public enum InvalidationScope: Sendable, Hashable {
    /// One resource, by the ``NewEntry/url`` of its entries.
    case resource(String)
    /// All resources: also for some of them that cannot be listed, because a body that is on its way has no entry yet.
    case everything
}
