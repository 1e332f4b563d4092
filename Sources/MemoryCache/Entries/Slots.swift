/// An entry's place in the order of use, and its neighbours there.
@usableFromInline
struct Use: Sendable {
    @usableFromInline var newer = Use.none
    @usableFromInline var older = Use.none
    /// The number of the last use, counted over the whole cache: the order, independent of the clock.
    @usableFromInline var sequence: UInt64 = 0
    /// The time of the last use, in seconds since 1970, for display.
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

/// Entries numbered from 0; a number is stable for the lifetime of its entry. Free ones are linked.
///
/// Must not be copied, only moved: a copy would share its entries with the original.
@usableFromInline
struct Slots<Entry: Sendable>: Sendable {
    @usableFromInline var uses: [Use] = []
    @usableFromInline var memory = SlotMemory<Entry>(capacity: 0)
    @usableFromInline var free = Use.none

    @inlinable
    init() {}

    /// Puts an entry into a free slot.
    @inlinable
    mutating func add(_ entry: consuming Entry) -> Int32 {
        var slot = free
        if slot == Use.none {
            slot = Int32(uses.count)
            if uses.count == memory.capacity { memory = memory.moved(toCapacity: 8 + uses.count * 5 / 4) }
            uses.append(Use())
        } else {
            free = uses[Int(slot)].older
        }
        memory.base[Int(slot)] = entry
        return slot
    }

    /// Removes the entry from its slot, which is in no list.
    @inlinable
    mutating func take(_ slot: Int32) -> Entry? {
        uses[Int(slot)].older = free
        free = slot
        return memory.base[Int(slot)].take()
    }

    /// The entry in a slot, or nil if it is free.
    @inlinable
    subscript(slot: Int32) -> Entry? {
        _read { yield memory.base[Int(slot)] }
        nonmutating _modify { yield &memory.base[Int(slot)] }
    }
}

/// An array whose elements are accessed in place: to compare an entry's key, `Array` would copy the entry, and retain
/// and release its objects.
///
/// `@unchecked Sendable`: it belongs to one `Slots`, which is accessed only under its shard's lock.
@usableFromInline
final class SlotMemory<Entry: Sendable>: @unchecked Sendable {
    /// All elements are initialised.
    @usableFromInline let base: UnsafeMutablePointer<Entry?>
    @usableFromInline let capacity: Int

    @inlinable
    init(capacity: Int) {
        base = .allocate(capacity: capacity)
        base.initialize(repeating: nil, count: capacity)
        self.capacity = capacity
    }

    @inlinable
    deinit {
        base.deinitialize(count: capacity)
        base.deallocate()
    }

    /// Moves the entries into more memory and leaves this value empty.
    @inlinable
    func moved(toCapacity capacity: Int) -> SlotMemory {
        let larger = SlotMemory(capacity: capacity)
        for slot in 0..<self.capacity { larger.base[slot] = base[slot].take() }
        return larger
    }
}

extension Slots {
    /// Inserts a slot that is in no list at the list's newest end.
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

    /// Moves a slot to the newest end of its list.
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
