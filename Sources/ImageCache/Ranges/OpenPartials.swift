import ConcurrencyPrimitives
import DiskStore
import HTTPSemantics

/// The incomplete bodies that were read lately. They stay open, so that a further range of one needs no look-up of its blocks.
struct OpenPartials {
    /// An incomplete body, and the response that it belongs to.
    struct Item {
        let body: PartialBody
        let record: ResponseRecord
        /// The generation of the resource before the look-up.
        let generation: Generation
        let opened: ContinuousClock.Instant
        /// True if no complete response was stored for the request. None is, as long as the generation is current.
        var isAlone = false
    }

    /// Each has two files open.
    private static let limit = 64
    /// After this time it is looked up again, which notes its use in the store.
    static let life = Duration.seconds(60)

    private var items: [EntryKey: Item] = [:]
    /// True while a task waits to close old items.
    private var isTimed = false

    mutating func insert(_ item: Item, for key: EntryKey) {
        if items.count >= Self.limit, items[key] == nil {
            items.min { $0.value.opened < $1.value.opened }.map { items[$0.key] = nil }
        }
        items[key] = item
    }

    var isEmpty: Bool { items.isEmpty }

    mutating func removeAll() { items = [:] }

    /// Returns true if a task must be started to close old items.
    mutating func beginTiming() -> Bool {
        defer { isTimed = true }
        return !isTimed
    }

    /// Closes old items. Returns false if no item is left, so that the task ends.
    mutating func removeOld(at now: ContinuousClock.Instant) -> Bool {
        items = items.filter { now - $0.value.opened < Self.life }
        isTimed = !items.isEmpty
        return isTimed
    }

    mutating func remove(_ key: EntryKey) { items[key] = nil }

    /// Notes that no complete response is stored for a request.
    mutating func noteAlone(_ key: EntryKey, in generation: Generation) {
        if items[key]?.generation == generation { items[key]?.isAlone = true }
    }

    /// The body of a key; `nil` if it is not open, or too old.
    mutating func item(_ key: EntryKey, at now: ContinuousClock.Instant) -> Item? {
        guard let item = items[key] else { return nil }
        if now - item.opened < Self.life { return item }
        items[key] = nil
        return nil
    }
}

extension OpenPartials.Item {
    /// The range that a request asks for, if all of its bytes are held. The body may have grown since it was opened.
    func range(of resolved: ResolvedRequest) -> Range<Int64>? {
        guard let total = body.total, let wanted = ByteRange(resolved.clientRequest.fields)?.resolved(length: total)
        else {
            return nil
        }
        return body.held.contains { $0.lowerBound <= wanted.lowerBound && wanted.upperBound <= $0.upperBound }
            ? wanted : nil
    }
}
