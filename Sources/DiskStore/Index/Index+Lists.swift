extension Index {
    /// Rows that are changed in one transaction, so that others get their turn and the log keeps its size.
    var listBatch: Int64 { budget.evictionBatch }

    // MARK: Staging

    /// Makes the list ready for its next array: what is left of former ones goes.
    func beginStaging(_ list: ListState, _ token: Int64) throws(StoreError) {
        let leftover = try change { (_) throws(StoreError) -> Bool in
            let catalogue = try catalogue()
            guard let staging = try catalogue.staging(ofList: list.list), try catalogue.list(list.list) == list else {
                throw taken
            }
            try catalogue.saveStaging(token, ofList: list.list)
            return staging != 0
        }
        try collectEnded(in: list.list, upTo: list.revision)
        if leftover { try undoStaging(list, token) }
    }

    func checkStaging(_ list: Int64, _ token: Int64) throws(StoreError) {
        if try catalogue().staging(ofList: list) != token { throw taken }
    }

    private var taken: StoreError {
        StoreError(.taken, "the list was removed, or another process has taken its sync over", path: paths.root)
    }

    func stage(
        _ changes: ArraySlice<ListStaging.Change>, _ list: Int64, _ token: Int64, _ revision: Int64
    ) throws(StoreError) {
        let bytes = changes.reduce(0) { $0 + 400 + 6 * Int64($1.item.id.utf8.count) }
        try changeWithRoom(for: bytes) { (_) throws(StoreError) in
            try checkStaging(list, token)
            let catalogue = try catalogue()
            for change in changes {
                if let former = change.former { try catalogue.end(former, at: revision) }
                try catalogue.insert(change.item, list: list, position: change.position, since: revision)
                if change.isPending {
                    try catalogue.insertPending(change.item, list: list, position: change.position, since: revision)
                }
            }
        }
    }

    /// Takes back what an array wrote that was never taken over.
    private func undoStaging(_ list: ListState, _ token: Int64) throws(StoreError) {
        var last = ""
        while true {
            let rows = try catalogue().openItems(ofList: list.list, after: last, limit: listBatch)
            guard let end = rows.last else { break }
            last = end.id
            let wrong = rows.map(\.row).filter {
                $0.since > list.revision || $0.until > list.revision && $0.until != ListSchema.open
            }
            if wrong.isEmpty { continue }
            try change { (_) throws(StoreError) in
                try checkStaging(list.list, token)
                for row in wrong {
                    if row.since > list.revision {
                        try catalogue().deleteItem(row.item)
                    } else {
                        try catalogue().end(row.item, at: ListSchema.open)
                    }
                }
            }
        }
        var isMore = true
        while isMore {
            isMore = try change { (_) throws(StoreError) in
                try checkStaging(list.list, token)
                return try catalogue().deletePending(ofList: list.list, since: list.revision, limit: listBatch)
            }
        }
    }

    /// Deletes the items that ended, with the records and files of those that no array has.
    func collectEnded(in list: Int64, upTo revision: Int64) throws(StoreError) {
        var isMore = true
        while isMore {
            isMore = try change { (totals) throws(StoreError) in
                let catalogue = try catalogue()
                let ended = try catalogue.ended(inList: list, upTo: revision, limit: listBatch)
                for (item, id) in ended {
                    if try !catalogue.hasOpenItem(id, inList: list) { try deleteRecord(id, of: list, &totals) }
                    try catalogue.deleteItem(item)
                }
                return !ended.isEmpty
            }
        }
    }

    /// Deletes the records, and unpins the files, of some ids that are listed no longer.
    func deleteRecords(_ ids: [String], of list: Int64) throws(StoreError) {
        try change { (totals) throws(StoreError) in
            for id in ids where try !catalogue().hasOpenItem(id, inList: list) {
                try deleteRecord(id, of: list, &totals)
            }
        }
    }

    private func deleteRecord(_ id: String, of list: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        try catalogue.deleteRecord(id, ofList: list)
        try catalogue.deletePending(id, ofList: list)
        if let set = try catalogue.pinSet(ofList: list) { try unpin(record: id, of: set, &totals) }
    }

    // MARK: Pages

    /// Stores the records of a page and settles their ids; those that it did not bring go back into the queue.
    ///
    /// - Returns: The records that were stored: ids that are listed no longer are left out.
    func settle(_ list: Int64, _ records: [NewListRecord], missing: [String]) throws(StoreError) -> [StoredListRecord] {
        let bytes = records.reduce(0) { $0 + 600 + Int64($1.body.count) * 5 / 4 }
        return try changeWithRoom(for: bytes) { (totals) throws(StoreError) in
            let catalogue = try catalogue()
            guard let state = try catalogue.list(list) else { throw taken }
            var change = state.change
            var stored: [StoredListRecord] = []
            for record in records {
                // Removed, or changed once more, by a sync that did not know of this one.
                guard let item = try catalogue.listedItem(record.item.id, ofList: list) else { continue }
                change += 1
                try catalogue.insertRecord(record, list: list, change: change)
                if item.modified == record.item.modified { try catalogue.deletePending(item.id, ofList: list) }
                try pin(record.files, record: item.id, ofList: list, &totals)
                stored.append(
                    StoredListRecord(
                        id: item.id, isNumeric: item.isNumeric, modified: record.item.modified, body: record.body,
                        change: change))
            }
            for id in missing { try catalogue.notePendingAttempt(id, ofList: list) }
            try catalogue.saveChange(change, ofList: list)
            return stored
        }
    }

    // MARK: Removing

    /// Takes lists away at once; their rows go in steps.
    func discard(_ lists: [Int64]) throws(StoreError) {
        if lists.isEmpty { return }
        try change { (totals) throws(StoreError) in
            for list in lists {
                try catalogue().discardList(list)
                if let set = try catalogue().pinSet(ofList: list) { try deletePinSet(set, &totals) }
            }
        }
        try collectGarbage()
    }

    func collectGarbage() throws(StoreError) {
        while let list = try catalogue().garbageList() {
            _ = try change { (_) throws(StoreError) in
                try catalogue().deleteGarbage(ofList: list, limit: listBatch)
            }
        }
    }
}
