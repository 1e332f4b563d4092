import TextIdentity

/// The next array of a list while it is being received. It is written next to the current one in small transactions, and activated in one
/// transaction when it is complete. An array that is not activated leaves the list unchanged.
///
/// Used by one thread at a time. Two concurrent syncs of one list disturb only each other: the one that began first fails with
/// ``StoreError/Code/taken``.
package final class ListStaging {
    private let store: DiskStore
    private let list: Int64
    private let token = Int64.random(in: 1..<Int64.max)
    private let revision: Int64
    private let former: ListState
    /// True if the array contains only new and changed ids; the others are unchanged.
    private let isPartial: Bool

    /// True if all ids of a whole array get new positions, because so many were put in front that the numbers end.
    private let isNumberedAnew: Bool
    private var plan: PositionPlan
    private var window: [Seen] = []
    private var windowIDs: Set<ByteText> = []
    private var seen = ItemSet()
    private var difference = ListDifference()
    /// The first position of the former array; `nil` if it has none.
    private let first: Int64?
    /// The position of the next new id of an array of changes; `nil` before the first one.
    private var nextNew: Int64?

    /// The number of ids that are examined together. Half of them are then written.
    private let windowSize: Int

    private struct Seen {
        let item: ListedItem
        let row: ListItemTable.ItemRow?
    }

    /// - Parameters:
    ///   - isPartial: True if the array contains only changes. Then only the ids that ``remove(_:)`` names are removed.
    ///   - windowSize: The number of ids that are examined together.
    package init(
        _ list: ListState, isPartial: Bool, windowSize: Int = 2000, in store: DiskStore
    ) throws(StoreError) {
        self.store = store
        self.windowSize = windowSize
        self.list = list.list
        self.isPartial = isPartial
        former = list
        revision = list.revision + 1
        let token = token
        try store.beginStaging(list, token)
        first = try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().listItems.firstPosition(ofList: list.list)
        }
        isNumberedAnew = first.map { $0 < PositionPlan.lowest } ?? false
        plan = PositionPlan(former: isNumberedAnew ? nil : first)
    }

    /// Adds the next id of the array. A repeated id is skipped.
    package func add(_ item: ListedItem) throws(StoreError) {
        guard windowIDs.insert(item.id.asBytes).inserted else { return }
        let list = list
        let rows = try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().listItems.rows(item.id, ofList: list)
        }
        // A row that this staging wrote belongs to an earlier item with the same id.
        if rows.contains(where: { $0.since == revision || $0.until == revision }) { return }
        let row = rows.first { $0.until == ListSchema.open }
        if let row, !seen.insert(row.item) { return }
        window.append(Seen(item: item, row: row))
        if window.count >= windowSize { try write(windowSize / 2) }
    }

    /// Removes an id that a partial array reports as deleted. An id that the array has added before stays.
    package func remove(_ id: String) throws(StoreError) {
        if windowIDs.contains(id.asBytes) { return }
        let (list, token, revision) = (list, token, revision)
        let rows = try store.withIndex { (index) throws(StoreError) in
            try index.catalogue().listItems.rows(id, ofList: list)
        }
        guard let row = rows.first(where: { $0.until == ListSchema.open }), row.since < revision,
            !seen.contains(row.item)
        else { return }
        try store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.checkStaging(list, token)
                try index.catalogue().listItems.end(row.item, at: revision)
            }
        }
        difference.removed += 1
    }

    /// Activates the complete array: the ids, the removals and the queue in one transaction.
    ///
    /// - Parameter validator: Data of the caller about this array, which are stored with it.
    package func finish(validator: String) throws(StoreError) -> ListDifference {
        try write(window.count)
        if !isPartial, seen.count < former.items { try endUnseen() }
        let (list, token, revision, former, difference) = (list, token, revision, former, difference)
        try store.withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.checkStaging(list, token)
                try index.catalogue().lists.takeOver(
                    list: list, revision: revision, items: former.items + difference.added - difference.removed,
                    validator: validator, checked: index.now)
            }
        }
        return difference
    }

    // MARK: Writing

    private func write(_ count: Int) throws(StoreError) {
        if count == 0 { return }
        let positions: [Int64]
        if isPartial {
            // Only if this is all of the array, the number of its new ids is known.
            let added = count == window.count && nextNew == nil ? window.count { $0.row == nil } : nil
            var next = nextNew ?? PositionPlan.front(of: first, count: added)
            positions = window.prefix(count).map { seen in
                if let row = seen.row { return row.position }
                defer { next += PositionPlan.frontSpacing }
                return next
            }
            nextNew = next
        } else {
            positions = plan.assign(window.map { isNumberedAnew ? nil : $0.row?.position }, count: count)
        }
        var changes: [Change] = []
        for (seen, position) in zip(window, positions) {
            // A partial array contains only changed ids, even if it has no modification times.
            let isNamed = isPartial && seen.item.modified.isEmpty
            let isChanged = seen.row.map { isNamed || $0.modified != seen.item.modified } ?? true
            if seen.row == nil { difference.added += 1 } else if isChanged { difference.changed += 1 }
            if let row = seen.row, !isChanged, row.position == position { continue }
            changes.append(Change(item: seen.item, former: seen.row?.item, position: position, isPending: isChanged))
        }
        for seen in window.prefix(count) { windowIDs.remove(seen.item.id.asBytes) }
        window.removeFirst(count)
        let (list, token, revision) = (list, token, revision)
        var start = 0
        while start < changes.count {
            let begin = start
            start += try store.withIndex { (index) throws(StoreError) in
                let part = changes[begin..<min(changes.count, begin + Int(index.listBatch))]
                try index.stage(part, list, token, revision)
                return part.count
            }
        }
    }

    struct Change: Sendable {
        let item: ListedItem
        let former: Int64?
        let position: Int64
        let isPending: Bool
    }

    /// Ends the items that the new array does not have.
    private func endUnseen() throws(StoreError) {
        let (list, token, revision) = (list, token, revision)
        var last: (position: Int64, item: Int64) = (.min, .min)
        while true {
            let after = last
            let rows = try store.withIndex { (index) throws(StoreError) in
                try index.catalogue().listItems.rows(
                    ofList: list, after: after.position, after.item, limit: index.listBatch)
            }
            guard let end = rows.last else { return }
            last = (end.position, end.item)
            let unseen = rows.filter {
                $0.until == ListSchema.open && $0.since < revision && !seen.contains($0.item)
            }.map(\.item)
            if unseen.isEmpty { continue }
            difference.removed += Int64(unseen.count)
            try store.withIndex { (index) throws(StoreError) in
                try index.change { (_) throws(StoreError) in
                    try index.checkStaging(list, token)
                    for item in unseen { try index.catalogue().listItems.end(item, at: revision) }
                }
            }
        }
    }
}

/// The numbers of rows, a bit each.
private struct ItemSet {
    private var words: [Int64: UInt64] = [:]
    private(set) var count: Int64 = 0

    mutating func insert(_ item: Int64) -> Bool {
        let bit = UInt64(1) << UInt64(item & 63)
        let word = words[item >> 6, default: 0]
        if word & bit != 0 { return false }
        words[item >> 6] = word | bit
        count += 1
        return true
    }

    func contains(_ item: Int64) -> Bool { (words[item >> 6] ?? 0) >> UInt64(item & 63) & 1 == 1 }
}
