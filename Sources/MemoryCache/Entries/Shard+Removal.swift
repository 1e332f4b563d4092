extension Shard {
    /// A removed value, to be released outside of the lock: the value itself, or the object that it was.
    @usableFromInline
    enum Evicted: Sendable {
        case value(Value)
        case object(any AnyObject & Sendable)
    }

    /// Removes an entry's value to make room. If a caller still holds it, the entry remains and can be found again.
    @inlinable
    mutating func evict(_ slot: Int32, remembering values: WeakValues<Value>?) -> Evicted? {
        guard let values, let object = slots[slot]?.value.map(values.object) else {
            return remove(slot).value.map(Evicted.value)
        }
        var only = object
        _ = consume object
        hold(slot)
        // The cache's lock is held, so no other reference can be created: a sole reference remains one.
        if isKnownUniquelyReferenced(&only) {
            _ = remove(slot)
        } else {
            slots[slot]?.reference = WeakReference(only)
            forgetReleased()
        }
        return .object(only)
    }

    /// Moves an entry without its value to those that callers hold.
    @inlinable
    mutating func hold(_ slot: Int32) {
        guard let cost = slots[slot]?.cost else { return }
        let use = slots.uses[Int(slot)]
        if slots[slot]?.isPinned == true {
            pinnedBytes -= cost
            slots.unlink(slot, from: &pinned)
        } else {
            slots.unlink(slot, from: &free)
        }
        bytes -= cost
        slots[slot]?.value = nil
        slots[slot]?.isPinned = false
        slots.prepend(slot, to: &held, sequence: use.sequence, date: use.date)
    }

    /// Examines two of the entries that callers hold, and removes those that were released. As one is added at a time,
    /// their number is limited to about twice those that are really held.
    @inlinable
    mutating func forgetReleased() {
        for _ in 0..<2 where held.count > 1 {
            let slot = held.oldest
            if slots[slot]?.reference?.object == nil {
                _ = remove(slot)
            } else {
                let use = slots.uses[Int(slot)]
                slots.renew(slot, in: &held, sequence: use.sequence, date: use.date)
            }
        }
    }
}

extension Shard {
    @inlinable
    func firstVariant(of original: Key.Original, hash: UInt32) -> Int32? {
        originals.slot(hash: hash) { slots[$0]?.key.original == original }
    }

    /// Removes every variant of the original; returns their values and the bytes no longer in use.
    @inlinable
    mutating func removeVariants(of original: Key.Original, hash: UInt32) -> (values: [Value], entries: Int, bytes: Int)
    {
        var (values, entries, bytes): ([Value], Int, Int) = ([], 0, 0)
        while let slot = firstVariant(of: original, hash: hash) {
            let removed = remove(slot)
            bytes += removed.bytes
            if let value = removed.value {
                values.append(value)
                entries += 1
            }
        }
        return (values, entries, bytes)
    }

    /// Removes all entries; the counts remain.
    @inlinable
    mutating func removeAll() -> Shard {
        let all = self
        self = Shard()
        counts = all.counts
        return all
    }
}

extension Shard {
    /// Releases the entries' memory if there are none.
    @inlinable
    mutating func releaseUnused() {
        if free.count + pinned.count + held.count == 0 { _ = removeAll() }
    }
}
