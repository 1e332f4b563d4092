import ConcurrencyPrimitives

extension DiskStore {
    // MARK: Sets

    /// Creates a named set, or changes the existing one.
    ///
    /// - Parameter members: The new members of the set; `nil` to keep the existing ones.
    package func savePinSet(_ set: NewPinSet, members: [NewPin]?) throws(StoreError) -> PinSetState {
        try withIndex { (index) throws(StoreError) in
            let set = try index.savePinSet(set, members: members)
            return try index.catalogue().pins.count(set)
        }
    }

    package func pinSet(owner: String, name: String) throws(StoreError) -> PinSetState? {
        try withIndex { (index) throws(StoreError) in
            guard let set = try index.catalogue().pins.set(owner: owner, name: name) else { return nil }
            return try index.catalogue().pins.count(set)
        }
    }

    package func pinSet(_ id: Int64) throws(StoreError) -> PinSetState? {
        try withIndex { (index) throws(StoreError) in
            guard let set = try index.catalogue().pins.set(id) else { return nil }
            return try index.catalogue().pins.count(set)
        }
    }

    /// The set of the files that a list's records name; `nil` if they name none.
    package func pinSet(of list: ListState) throws(StoreError) -> PinSetState? {
        guard
            let id = try withIndex({ (index) throws(StoreError) in try index.catalogue().pins.set(ofList: list.list) })
        else { return nil }
        return try pinSet(id)
    }

    /// All sets, including those of lists.
    package func pinSets() throws(StoreError) -> [PinSetState] {
        try withIndex { (index) throws(StoreError) in
            let catalogue = try index.catalogue()
            var sets: [PinSetState] = []
            for set in try catalogue.pins.sets() { sets.append(try catalogue.pins.count(set)) }
            return sets
        }
    }

    /// Deletes a set. Its entries stay in the store like other entries.
    package func removePinSet(_ set: PinSetState) throws(StoreError) { try removePinSet(set.set) }

    /// Deletes the members in steps, and the set with the last of them. After a kill the set has the rest of its members.
    private func removePinSet(_ set: Int64) throws(StoreError) {
        while try withIndex({ (index) throws(StoreError) in
            try index.change { (totals) throws(StoreError) in try index.deleteSome(ofPinSet: set, &totals) }
        }) {}
    }

    /// Deletes the sets of an owner.
    package func removePinSets(owner: String) throws(StoreError) {
        let sets = try withIndex { (index) throws(StoreError) in try index.catalogue().pins.sets(owner: owner) }
        for set in sets { try removePinSet(set) }
    }

    package func notePinSetComplete(_ set: PinSetState) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in try index.catalogue().pins.noteComplete(set.set) }
        }
    }

    /// The error for a set if one of its files does not fit.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - error: The error of the store.
    package func lacksRoom(for set: PinSetState, _ url: String, _ error: StoreError) -> StoreError {
        let message = try? withIndex { (index) throws(StoreError) in
            try index.lackOfRoom(for: set, room: try index.usage().largestBody).message(url, bytes: error.bytesNeeded)
        }
        return StoreError(error.code, message ?? error.message, path: error.path)
    }

    // MARK: Members

    package func pins(of set: PinSetState, after pin: Int64, limit: Int) throws(StoreError) -> [PinMember] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().pins.members(ofSet: set.set, after: pin, limit: Int64(limit))
        }
    }

    package func failedPins(of set: PinSetState) throws(StoreError) -> [PinMember] {
        try withIndex { (index) throws(StoreError) in try index.catalogue().pins.failedMembers(ofSet: set.set) }
    }

    /// Records the result of the last attempt for a member.
    ///
    /// - Parameter error: The error message; `nil` if the member is stored as of now.
    package func note(_ member: PinMember, error: String?) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.catalogue().pins.save(
                    checked: error == nil ? index.now : nil, error: error ?? "", ofPin: member.pin)
            }
        }
    }

    // MARK: Entries

    /// Returns true if any set has a member with the key.
    package func isPinned(_ key: EntryKey) throws(StoreError) -> Bool {
        try withIndex { (index) throws(StoreError) in try index.catalogue().pins.contains(key) }
    }

    /// The number of seconds for which the key's entry may be stale because it is pinned; `nil` if no pin allows it.
    package func pinnedMaxStale(_ key: EntryKey) throws(StoreError) -> Int64? {
        let seconds = try withIndex { (index) throws(StoreError) in try index.catalogue().pins.maxStale(of: key) }
        return seconds < 0 ? nil : seconds
    }

    /// Returns the number of bytes that pinned entries occupy on disk.
    package func pinnedBytes() throws(StoreError) -> Int64 {
        try withIndex { (index) throws(StoreError) in try index.catalogue().holds.pinnedBytes() }
    }
}

// Pinned bodies stay until they are unpinned, because a run that never ends holds their entries (see `PinSchema`).

extension Index {
    // MARK: Keys

    /// Holds an entry of a pinned key. Must be called inside a transaction.
    func holdIfPinned(_ id: Int64, key: EntryKey, allocated: Int64, _ totals: inout Totals) throws(StoreError) {
        if try catalogue().pins.contains(key) { try holdPinned(id, allocated: allocated, &totals) }
    }

    private func holdPinned(_ id: Int64, allocated: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        if try catalogue.holds.holders(of: id).isEmpty { totals.held += allocated }
        try catalogue.holds.insert(id, run: PinSchema.pinRun, allocated: allocated)
        try catalogue.entries.save(isPinned: true, of: id)
    }

    private func holdPinned(_ key: EntryKey, _ totals: inout Totals) throws(StoreError) {
        for entry in try catalogue().entries.variants(of: key) {
            try holdPinned(entry.id, allocated: entry.allocated, &totals)
        }
    }

    /// Releases the entries of keys that are no longer pinned.
    private func releaseUnpinned(_ keys: [EntryKey], _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        for key in Set(keys) where try !catalogue.pins.contains(key) {
            for entry in try catalogue.entries.variants(of: key)
            where try catalogue.holds.delete(entry.id, run: PinSchema.pinRun) {
                try catalogue.entries.save(isPinned: false, of: entry.id)
                if try catalogue.holds.holders(of: entry.id).isEmpty { totals.held -= entry.allocated }
            }
        }
    }

    // MARK: Sets

    /// Creates a set with these members, or replaces the members of an existing set. Members that it already has are unchanged.
    func savePinSet(_ new: NewPinSet, members: [NewPin]?) throws(StoreError) -> PinSetState {
        let bytes = (members ?? []).reduce(4096) { $0 + 300 + 2 * Int64($1.url.utf8.count + $1.key.value.utf8.count) }
        return try changeWithRoom(for: bytes) { (totals) throws(StoreError) in
            let catalogue = try catalogue()
            try catalogue.pins.insert(new, list: 0)
            guard let set = try catalogue.pins.set(owner: new.owner, name: new.name) else {
                throw StoreError(.damaged, "the index has lost a set of pins", path: paths.index)
            }
            guard let members else { return set }
            var missing: [EntryKey: NewPin] = [:]
            var order: [EntryKey] = []
            for member in members where missing.updateValue(member, forKey: member.key) == nil {
                order.append(member.key)
            }
            var gone: [EntryKey] = []
            var last: Int64 = 0
            while true {
                let known = try catalogue.pins.members(ofSet: set.set, after: last, limit: 1000)
                guard let end = known.last else { break }
                last = end.pin
                for pin in known where missing.removeValue(forKey: pin.key) == nil {
                    try catalogue.pins.deleteMember(pin.pin)
                    gone.append(pin.key)
                }
            }
            for key in order {
                guard let member = missing[key] else { continue }
                try catalogue.pins.insert(member, set: set.set, record: "")
                try holdPinned(key, &totals)
            }
            try releaseUnpinned(gone, &totals)
            try checkFits(set, members: members, totals)
            return set
        }
    }

    /// Deletes some members of a set, and the set itself with the last of them. Must be called inside a transaction. Returns false if the set
    /// is deleted.
    func deleteSome(ofPinSet set: Int64, _ totals: inout Totals) throws(StoreError) -> Bool {
        let catalogue = try catalogue()
        let keys = try catalogue.pins.deleteMembers(ofSet: set, limit: listBatch)
        try releaseUnpinned(keys, &totals)
        if keys.count == listBatch { return true }
        try catalogue.pins.deleteSet(set)
        return false
    }

    // MARK: Lists

    /// Pins these files for a record, and unpins its other ones. Must be called inside a transaction.
    func pin(_ files: [NewPin], record: String, ofList list: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        var set = try catalogue.pins.set(ofList: list)
        if set == nil {
            guard !files.isEmpty, let state = try catalogue.lists.list(list) else { return }
            let name = state.name
            let shown = name.group.isEmpty ? name.name : "\(name.group)/\(name.name)"
            try catalogue.pins.insert(NewPinSet(owner: name.owner, name: shown), list: list)
            set = try catalogue.pins.set(ofList: list)
        }
        guard let set else { return }
        let before = try catalogue.pins.deleteMembers(ofSet: set, record: record)
        for file in files {
            try catalogue.pins.insert(file, set: set, record: record)
            try holdPinned(file.key, &totals)
        }
        try releaseUnpinned(before, &totals)
    }

    func unpin(record: String, of set: Int64, _ totals: inout Totals) throws(StoreError) {
        try releaseUnpinned(try catalogue().pins.deleteMembers(ofSet: set, record: record), &totals)
    }
}
