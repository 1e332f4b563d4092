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
    /// True while a task waits to close what is too old.
    private var isTimed = false

    mutating func insert(_ item: Item, for key: EntryKey) {
        if items.count >= Self.limit, items[key] == nil {
            items.min { $0.value.opened < $1.value.opened }.map { items[$0.key] = nil }
        }
        items[key] = item
    }

    var isEmpty: Bool { items.isEmpty }

    mutating func removeAll() { items = [:] }

    /// Returns true if a task must be started that closes what is too old.
    mutating func beginTiming() -> Bool {
        defer { isTimed = true }
        return !isTimed
    }

    /// Closes what is too old. Returns false if nothing is left, so that the task ends.
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

extension Fetcher {
    /// The incomplete body of a request that was read lately; `nil` if it does not have the range any more, or not yet.
    func recentPartial(for resolved: ResolvedRequest) -> OpenPartials.Item? {
        guard let item = openPartials.withLock({ $0.item(resolved.key, at: .now) }) else { return nil }
        if store.isCurrent(item.generation), item.body.isStored, item.range(of: resolved) != nil {
            return item
        }
        openPartials.withLock { $0.remove(resolved.key) }
        return nil
    }

    /// The incomplete body of a request, and its response; `nil` if there is none.
    func openPartial(for resolved: ResolvedRequest) throws(StoreError) -> OpenPartials.Item? {
        if let item = recentPartial(for: resolved) { return item }
        let generation = store.generation(of: resolved.url)
        guard let body = try store.openPartial(for: resolved.key), !body.held.isEmpty,
            let record = ResponseRecord(decoding: body.header)
        else { return nil }
        let item = OpenPartials.Item(body: body, record: record, generation: generation, opened: .now)
        let isFirst = openPartials.withLock { partials in
            partials.insert(item, for: resolved.key)
            return partials.beginTiming()
        }
        if isFirst { closeOldPartials() }
        return item
    }

    /// Closes the bodies that were read last a while ago: as long as they are open, the disk has their space even after they were removed.
    private func closeOldPartials() {
        Task { [weak self] in
            repeat {
                try? await Task.sleep(for: OpenPartials.life)
            } while self?.openPartials.withLock { $0.removeOld(at: .now) } ?? false
        }
    }
}

extension OpenPartials.Item {
    /// The range that a request asks for, if all of its bytes are held. The body may have grown since it was opened.
    func range(of resolved: ResolvedRequest) -> Range<Int64>? {
        guard let total = body.total, let wanted = ByteRange(resolved.asked.fields)?.resolved(length: total) else {
            return nil
        }
        return body.held.contains { $0.lowerBound <= wanted.lowerBound && wanted.upperBound <= $0.upperBound }
            ? wanted : nil
    }
}
