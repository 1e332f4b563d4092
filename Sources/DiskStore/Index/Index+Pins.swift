// Pinned bodies stay until they are unpinned, because a run that never ends holds their entries (see `PinSchema`).

extension Index {
    // MARK: Keys

    /// Holds an entry of a pinned key. Inside a transaction.
    func holdIfPinned(_ id: Int64, key: EntryKey, allocated: Int64, _ totals: inout Totals) throws(StoreError) {
        if try catalogue().isPinned(key) { try holdPinned(id, allocated: allocated, &totals) }
    }

    private func holdPinned(_ id: Int64, allocated: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        if try catalogue.holders(of: id).isEmpty { totals.held += allocated }
        try catalogue.insertHold(id, run: PinSchema.pinRun, allocated: allocated)
        try catalogue.save(isPinned: true, of: id)
    }

    private func holdPinned(_ key: EntryKey, _ totals: inout Totals) throws(StoreError) {
        for entry in try catalogue().entries(of: key) {
            try holdPinned(entry.id, allocated: entry.allocated, &totals)
        }
    }

    /// Lets the entries go of keys that are pinned no longer.
    private func releaseUnpinned(_ keys: [EntryKey], _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        for key in Set(keys) where try !catalogue.isPinned(key) {
            for entry in try catalogue.entries(of: key)
            where try catalogue.deleteHold(entry.id, run: PinSchema.pinRun) {
                try catalogue.save(isPinned: false, of: entry.id)
                if try catalogue.holders(of: entry.id).isEmpty { totals.held -= entry.allocated }
            }
        }
    }

    // MARK: Sets

    /// Creates a set with these members, or replaces the members of an existing set. Members that it already has are unchanged.
    func savePinSet(_ new: NewPinSet, members: [NewPin]?) throws(StoreError) -> PinSetState {
        let bytes = (members ?? []).reduce(4096) { $0 + 300 + 2 * Int64($1.url.utf8.count + $1.key.value.utf8.count) }
        return try changeWithRoom(for: bytes) { (totals) throws(StoreError) in
            let catalogue = try catalogue()
            try catalogue.insertPinSet(new, list: 0)
            guard let set = try catalogue.pinSet(owner: new.owner, name: new.name) else {
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
                let known = try catalogue.pins(ofSet: set.set, after: last, limit: 1000)
                guard let end = known.last else { break }
                last = end.pin
                for pin in known where missing.removeValue(forKey: pin.key) == nil {
                    try catalogue.deletePin(pin.pin)
                    gone.append(pin.key)
                }
            }
            for key in order {
                guard let member = missing[key] else { continue }
                try catalogue.insertPin(member, set: set.set, record: "")
                try holdPinned(key, &totals)
            }
            try releaseUnpinned(gone, &totals)
            try checkFits(set, members: members, totals)
            return set
        }
    }

    /// Deletes a set. Inside a transaction.
    func deletePinSet(_ set: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        let keys = try catalogue.deletePins(ofSet: set)
        try catalogue.deletePinSet(set)
        try releaseUnpinned(keys, &totals)
    }

    // MARK: Lists

    /// Gives a record these files, and no others. Inside a transaction.
    func pin(_ files: [NewPin], record: String, ofList list: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        var set = try catalogue.pinSet(ofList: list)
        if set == nil {
            guard !files.isEmpty, let state = try catalogue.list(list) else { return }
            let name = state.name
            let shown = name.group.isEmpty ? name.name : "\(name.group)/\(name.name)"
            try catalogue.insertPinSet(NewPinSet(owner: name.owner, name: shown), list: list)
            set = try catalogue.pinSet(ofList: list)
        }
        guard let set else { return }
        let before = try catalogue.deletePins(ofSet: set, record: record)
        for file in files {
            try catalogue.insertPin(file, set: set, record: record)
            try holdPinned(file.key, &totals)
        }
        try releaseUnpinned(before, &totals)
    }

    func unpin(record: String, of set: Int64, _ totals: inout Totals) throws(StoreError) {
        try releaseUnpinned(try catalogue().deletePins(ofSet: set, record: record), &totals)
    }
}
