/// The state of one resource at one moment: the invalidations and changes of its entries until then, by any process on
/// the directory.
///
/// A process reads the generation before it begins to fill the store, or copies from it into memory. New content is
/// stored only if the resource has not been invalidated since (``epoch``); a copy in memory is used only while the
/// resource is unchanged (``DiskStore/isCurrent(_:)``).
///
/// Resources that differ after a question mark alone are invalidated together: a URL and all its queries.
///
/// Two resources may share a slot: a change of one then looks like a change of the other, which costs a look at the
/// index.
package struct Generation: Sendable, Hashable {
    /// The invalidations only. Content requested in one epoch is not delivered to requests of a later one.
    package struct Epoch: Sendable, Hashable {
        let slot: Int
        /// Changes when the whole store, or an unspecified part of it, is invalidated.
        let everything: UInt64
        /// Changes when the resource is invalidated.
        let invalidation: UInt64
    }

    package let epoch: Epoch
    let slot: Int
    /// Changes when an entry of the resource is replaced, removed or gets other metadata.
    let change: UInt64
    /// False if a change was in progress when the generation was read. The index may then still show the state before that change, and the
    /// generation never counts as current.
    let isSettled: Bool
}

/// The scope of an invalidation.
package enum InvalidationScope: Sendable, Hashable {
    /// One resource, given by the ``NewEntry/url`` of its entries.
    case resource(String)
    /// All resources: also used for parts that cannot be listed, because a body in transfer has no entry yet.
    case everything
}
