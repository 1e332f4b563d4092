/// An entry's place in the order of use, and its neighbours there.
@usableFromInline
struct Use: Sendable {
    @usableFromInline var newer = Use.none
    @usableFromInline var older = Use.none
    /// When it was used last, counted in uses of the whole cache: the order, whatever the clock says.
    @usableFromInline var sequence: UInt64 = 0
    /// When it was used last, in seconds since 1970: for people.
    @usableFromInline var date: Double = 0

    @inlinable static var none: Int32 { -1 }

    @inlinable
    init() {}

    @inlinable
    init(newer: Int32, older: Int32, sequence: UInt64, date: Double) {
        self.newer = newer
        self.older = older
        self.sequence = sequence
        self.date = date
    }
}

/// Entries from the most to the least recently used one, linked through ``Use``.
@usableFromInline
struct UseList: Sendable {
    @usableFromInline var newest = Use.none
    @usableFromInline var oldest = Use.none
    @usableFromInline var count = 0

    @inlinable
    init() {}
}

/// Entries numbered from 0; a number stays the same as long as its entry lives. Free ones are linked.
@usableFromInline
struct Slots<Entry: Sendable>: Sendable {
    @usableFromInline var uses: [Use] = []
    /// nil: free.
    @usableFromInline var entries: ContiguousArray<Entry?> = []
    @usableFromInline var free = Use.none

    @inlinable
    init() {}

    /// Puts an entry into a free slot.
    @inlinable
    mutating func add(_ entry: consuming Entry) -> Int32 {
        if free == Use.none {
            uses.append(Use())
            entries.append(entry)
            return Int32(entries.count - 1)
        }
        let slot = free
        free = uses[Int(slot)].older
        entries[Int(slot)] = entry
        return slot
    }

    /// Takes the entry out of its slot, which is in no list.
    @inlinable
    mutating func take(_ slot: Int32) -> Entry? {
        uses[Int(slot)].older = free
        free = slot
        return entries[Int(slot)].take()
    }

    /// The entry in a slot, or nil when it is free.
    @inlinable
    subscript(slot: Int32) -> Entry? {
        _read { yield entries[Int(slot)] }
        _modify { yield &entries[Int(slot)] }
    }
}

extension Slots {
    /// Puts a slot that is in no list at the list's newest end.
    @inlinable
    mutating func prepend(_ slot: Int32, to list: inout UseList, sequence: UInt64, date: Double) {
        uses[Int(slot)] = Use(newer: Use.none, older: list.newest, sequence: sequence, date: date)
        if list.newest == Use.none { list.oldest = slot } else { uses[Int(list.newest)].newer = slot }
        list.newest = slot
        list.count += 1
    }

    @inlinable
    mutating func unlink(_ slot: Int32, from list: inout UseList) {
        let use = uses[Int(slot)]
        if use.newer == Use.none { list.newest = use.older } else { uses[Int(use.newer)].older = use.older }
        if use.older == Use.none { list.oldest = use.newer } else { uses[Int(use.older)].newer = use.newer }
        list.count -= 1
    }

    /// Makes a slot of the list its newest.
    @inlinable
    mutating func renew(_ slot: Int32, in list: inout UseList, sequence: UInt64, date: Double) {
        if list.newest == slot {
            uses[Int(slot)].sequence = sequence
            uses[Int(slot)].date = date
        } else {
            unlink(slot, from: &list)
            prepend(slot, to: &list, sequence: sequence, date: date)
        }
    }
}
