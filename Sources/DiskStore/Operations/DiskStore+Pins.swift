import ConcurrencyPrimitives

extension DiskStore {
    // MARK: Sets

    /// Makes a named set, or changes the one that is there.
    ///
    /// - Parameter members: What the set has from now on; `nil`: what it has.
    package func savePinSet(_ set: NewPinSet, members: [NewPin]?) throws(StoreError) -> PinSetState {
        try withIndex { (index) throws(StoreError) in
            let set = try index.savePinSet(set, members: members)
            return try index.catalogue().count(set)
        }
    }

    package func pinSet(owner: String, name: String) throws(StoreError) -> PinSetState? {
        try withIndex { (index) throws(StoreError) in
            guard let set = try index.catalogue().pinSet(owner: owner, name: name) else { return nil }
            return try index.catalogue().count(set)
        }
    }

    package func pinSet(_ id: Int64) throws(StoreError) -> PinSetState? {
        try withIndex { (index) throws(StoreError) in
            guard let set = try index.catalogue().pinSet(id) else { return nil }
            return try index.catalogue().count(set)
        }
    }

    /// The set of the files that a list's records name; `nil` when they name none.
    package func pinSet(of list: ListState) throws(StoreError) -> PinSetState? {
        guard
            let id = try withIndex({ (index) throws(StoreError) in try index.catalogue().pinSet(ofList: list.list) })
        else { return nil }
        return try pinSet(id)
    }

    /// All sets, including those of lists.
    package func pinSets() throws(StoreError) -> [PinSetState] {
        try withIndex { (index) throws(StoreError) in
            let catalogue = try index.catalogue()
            var sets: [PinSetState] = []
            for set in try catalogue.pinSets() { sets.append(try catalogue.count(set)) }
            return sets
        }
    }

    /// Deletes a set; its entries stay in the store as any others do.
    package func removePinSet(_ set: PinSetState) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (totals) throws(StoreError) in try index.deletePinSet(set.set, &totals) }
        }
    }

    /// Deletes the sets of an owner.
    package func removePinSets(owner: String) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            for set in try index.catalogue().pinSets(owner: owner) {
                try index.change { (totals) throws(StoreError) in try index.deletePinSet(set, &totals) }
            }
        }
    }

    package func notePinSetComplete(_ set: PinSetState) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in try index.catalogue().notePinSetComplete(set.set) }
        }
    }

    /// The error for a set of which a file found no room.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - error: The store's refusal.
    package func lacksRoom(for set: PinSetState, _ url: String, _ error: StoreError) -> StoreError {
        let message = try? withIndex { (index) throws(StoreError) in
            try index.lackOfRoom(for: set, room: try index.usage().largestBody).message(url, bytes: error.bytesNeeded)
        }
        return StoreError(error.code, message ?? error.message, path: error.path)
    }

    // MARK: Members

    package func pins(of set: PinSetState, after pin: Int64, limit: Int) throws(StoreError) -> [PinMember] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().pins(ofSet: set.set, after: pin, limit: Int64(limit))
        }
    }

    package func failedPins(of set: PinSetState) throws(StoreError) -> [PinMember] {
        try withIndex { (index) throws(StoreError) in try index.catalogue().failedPins(ofSet: set.set) }
    }

    /// Notes what became of a member.
    ///
    /// - Parameter error: `nil`: it is there, as of now.
    package func note(_ member: PinMember, error: String?) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.catalogue().save(
                    checked: error == nil ? index.now : nil, error: error ?? "", ofPin: member.pin)
            }
        }
    }

    // MARK: Entries

    /// For how long the key's entry may be stale because it is pinned, in seconds; `nil`: not for that.
    package func pinnedMaxStale(_ key: EntryKey) throws(StoreError) -> Int64? {
        let seconds = try withIndex { (index) throws(StoreError) in try index.catalogue().pinnedMaxStale(key) }
        return seconds < 0 ? nil : seconds
    }

    /// Returns the number of bytes that pinned entries occupy on disk.
    package func pinnedBytes() throws(StoreError) -> Int64 {
        try withIndex { (index) throws(StoreError) in try index.catalogue().pinnedBytes() }
    }
}
