/// Weak references to the objects of values that were purged, or too large, and that callers may hold.
@usableFromInline
struct HeldObjects<Key: MemoryCacheKey>: Sendable {
    @usableFromInline typealias Object = any AnyObject & Sendable

    @usableFromInline
    struct Reference: Sendable {
        @usableFromInline weak var object: Object?
        @usableFromInline let id: ObjectIdentifier
        @usableFromInline let cost: Int

        @inlinable
        init(_ object: Object, cost: Int) {
            self.object = object
            id = ObjectIdentifier(object)
            self.cost = cost
        }
    }

    @usableFromInline var references: [Key: Reference] = [:]
    /// The number of references at which those to released objects are removed.
    @usableFromInline var limit = 64

    @inlinable
    init() {}

    @inlinable
    mutating func insert<Value>(_ entry: CacheEntry<Key, Value>) {
        if let object = entry.object { references[entry.key] = Reference(object, cost: entry.cost) }
    }

    func object(for key: Key) -> (object: Object, cost: Int)? {
        references[key].flatMap { reference in reference.object.map { ($0, reference.cost) } }
    }

    /// Returns true if the entry's object is the one held for its key.
    func contains<Value>(_ entry: CacheEntry<Key, Value>) -> Bool {
        references[entry.key]?.id == entry.object.map { ObjectIdentifier($0) }
    }

    @inlinable
    mutating func remove(_ key: Key) {
        if !references.isEmpty { references[key] = nil }
    }

    @inlinable
    mutating func removeVariants(of original: Key.Original) {
        if !references.isEmpty { references = references.filter { $0.key.original != original } }
    }

    /// Removes the references to released objects if their number may have doubled since the last time.
    ///
    /// - Returns: The other objects. The caller releases them outside of the lock, because these may be the last references.
    @inlinable
    mutating func removeReleased() -> [Object] {
        guard references.count >= limit else { return [] }
        var objects: [Object] = []
        references = references.filter { _, reference in
            guard let object = reference.object else { return false }
            objects.append(object)
            return true
        }
        limit = max(64, 2 * references.count)
        return objects
    }
}
