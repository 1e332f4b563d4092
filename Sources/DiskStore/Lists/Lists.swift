import ConcurrencyPrimitives

extension DiskStore {
    // MARK: Lists

    /// Returns a list; `nil` before its first sync.
    package func list(_ name: ListName) throws(StoreError) -> ListState? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().lists.list(name) }
    }

    /// All lists.
    package func lists() throws(StoreError) -> [ListState] {
        try withIndex { (index) throws(StoreError) in try index.catalogue().lists.all() }
    }

    /// Returns a list, which is created if it does not exist.
    package func openList(_ name: ListName) throws(StoreError) -> ListState {
        if let list = try list(name) { return list }
        return try withIndex { (index) throws(StoreError) in
            try index.changeWithRoom(for: 4096) { (_) throws(StoreError) in
                let catalogue = try index.catalogue()
                if let list = try catalogue.lists.list(name) { return list }
                // Random, because a running sync may still use the number of a removed list.
                try catalogue.lists.insert(name, id: Int64.random(in: 1..<Int64.max))
                guard let list = try catalogue.lists.list(name) else {
                    throw StoreError(.damaged, "the index has lost a list", path: index.paths.index)
                }
                return list
            }
        }
    }

    /// Records that the server confirmed a list's array unchanged.
    package func noteListChecked(_ list: ListState) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.catalogue().lists.saveChecked(index.now, ofList: list.list)
            }
        }
    }

    /// The newest modification time in a list, as the server wrote it; empty for none.
    package func newestModified(of list: ListState) throws(StoreError) -> String {
        try withIndex { (index) throws(StoreError) in try index.catalogue().listItems.newestModified(ofList: list.list)
        }
    }

    /// Removes one list.
    package func removeList(_ name: ListName) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            if let list = try index.catalogue().lists.list(name) { try index.discard([list.list]) }
        }
        try collectListGarbage()
    }

    /// Removes the lists of an owner, or of one of its groups.
    package func removeLists(owner: String, group: String? = nil) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.discard(index.catalogue().lists.lists(owner: owner, group: group))
        }
        try collectListGarbage()
    }

    /// Deletes the rows of removed lists, also of those whose removal was interrupted by the end of a process.
    package func collectListGarbage() throws(StoreError) {
        while try withIndex({ (index) throws(StoreError) in try index.collectGarbage() }) {}
    }

    // MARK: Records

    package func records(of list: ListState, _ request: ListPageRequest) throws(StoreError) -> [(
        record: StoredListRecord, place: ListPlace
    )] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().listRecords.page(ofList: list.list, request).map { ($0.0, $0.1) }
        }
    }

    package func record(_ id: String, of list: ListState) throws(StoreError) -> StoredListRecord? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().listRecords.record(id, ofList: list.list) }
    }

    /// The records that were stored after a change.
    package func records(of list: ListState, afterChange change: Int64, limit: Int) throws(StoreError)
        -> [StoredListRecord]
    {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().listRecords.records(ofList: list.list, afterChange: change, limit: Int64(limit))
        }
    }

    // MARK: Pending

    package func pendingCount(of list: ListState) throws(StoreError) -> Int64 {
        try withIndex { (index) throws(StoreError) in try index.catalogue().pendingItems.count(ofList: list.list) }
    }

    package func pending(
        of list: ListState, after place: PendingPlace, limit: Int
    ) throws(StoreError) -> [PendingItem] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().pendingItems.items(ofList: list.list, after: place, limit: Int64(limit))
        }
    }

    /// Resets the attempts of all queued ids.
    package func forgetAttempts(of list: ListState) throws(StoreError) {
        var isMore = true
        while isMore {
            isMore = try withIndex { (index) throws(StoreError) in
                try index.change { (_) throws(StoreError) in
                    try index.catalogue().pendingItems.forgetAttempts(
                        ofList: list.list, limit: index.listBatch)
                }
            }
        }
    }

    /// Stores the records of a page and settles their ids, in one transaction.
    ///
    /// - Parameter missing: The ids whose records the page lacks. They are tried again after the others.
    /// - Returns: The records that were stored.
    package func settle(
        _ records: [NewListRecord], missing: [String], of list: ListState
    ) throws(StoreError) -> [StoredListRecord] {
        try withIndex { (index) throws(StoreError) in try index.settle(list.list, records, missing: missing) }
    }

    // MARK: Removals

    /// Returns ids that a revision removed, and the number after which the next page begins.
    ///
    /// - Parameter hasRemains: True for only those that ``deleteRecords(_:of:)`` has not had yet.
    package func removed(
        from list: ListState, at revision: Int64, after item: Int64, hasRemains: Bool = false, limit: Int
    ) throws(StoreError) -> [(item: Int64, listed: ListedItem)] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().listItems.removed(
                fromList: list.list, at: revision, after: item, hasRemains: hasRemains, limit: Int64(limit))
        }
    }

    /// Deletes the records of ids that are no longer listed, in steps. After a kill the next sync deletes the others.
    package func deleteRecords(_ ids: [String], of list: ListState) throws(StoreError) {
        let count = try withIndex { (index) throws(StoreError) in Int(index.listBatch) }
        for step in ids.chunks(ofCount: count) {
            try withIndex { (index) throws(StoreError) in try index.deleteRecords(step, of: list.list) }
        }
    }
}

extension DiskStore {
    // MARK: Staging

    /// Prepares the list for its next array, and removes remains of former ones.
    ///
    /// From the first transaction on, no other sync can write to this list. Therefore nothing is staged when this returns.
    func beginStaging(_ list: ListState, _ token: Int64) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.takeStaging(list, token) }
        for step in Index.StagingStep.allCases {
            while try withIndex({ (index) throws(StoreError) in try index.prepareStaging(list, token, step) }) {}
        }
    }
}

extension Index {
    /// The number of rows that one transaction changes. It is limited, so that other callers proceed in between and the log stays short.
    var listBatch: Int64 { budget.evictionBatch }

    // MARK: Staging

    /// Excludes all other syncs from writing to a list.
    func takeStaging(_ list: ListState, _ token: Int64) throws(StoreError) {
        try change { (_) throws(StoreError) in
            let catalogue = try catalogue()
            guard try catalogue.lists.list(list.list)?.revision == list.revision else { throw taken }
            try catalogue.lists.saveStaging(token, ofList: list.list)
        }
    }

    /// The steps that prepare a list for its next array, in order.
    enum StagingStep: CaseIterable {
        /// Undo the changes of an array that was never activated. Its items are deleted first, because an id has only one current row.
        case deleteStaged, reopen, undoPending
        /// Deletes the items that ended, with the records and files of those that are not listed again.
        case collectEnded
    }

    /// Does a part of a step, in one transaction. Returns false if there is no more to do in it.
    func prepareStaging(_ list: ListState, _ token: Int64, _ step: StagingStep) throws(StoreError) -> Bool {
        try change { (totals) throws(StoreError) in
            try checkStaging(list.list, token)
            let catalogue = try catalogue()
            switch step {
            case .deleteStaged:
                return try catalogue.listItems.deleteStaged(
                    ofList: list.list, since: list.revision, limit: listBatch)
            case .reopen:
                return try catalogue.listItems.reopen(ofList: list.list, until: list.revision, limit: listBatch)
            case .undoPending:
                return try catalogue.pendingItems.undo(ofList: list.list, since: list.revision, limit: listBatch)
            case .collectEnded: return try collectEnded(in: list, &totals)
            }
        }
    }

    func checkStaging(_ list: Int64, _ token: Int64) throws(StoreError) {
        if try catalogue().lists.staging(ofList: list) != token { throw taken }
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
                if let former = change.former { try catalogue.listItems.end(former, at: revision) }
                try catalogue.listItems.insert(change.item, list: list, position: change.position, since: revision)
                if change.isPending {
                    try catalogue.pendingItems.insert(
                        change.item, list: list, position: change.position, since: revision)
                }
            }
        }
    }

    private func collectEnded(in list: ListState, _ totals: inout Totals) throws(StoreError) -> Bool {
        let catalogue = try catalogue()
        let ended = try catalogue.listItems.ended(inList: list.list, upTo: list.revision, limit: listBatch)
        for (item, id) in ended {
            if try !catalogue.listItems.contains(id, inList: list.list) {
                try deleteRecord(id, of: list.list, &totals)
            }
            try catalogue.listItems.delete(item)
        }
        return !ended.isEmpty
    }

    /// Deletes the records and unpins the files of ids that are no longer listed.
    func deleteRecords(_ ids: [String], of list: Int64) throws(StoreError) {
        try change { (totals) throws(StoreError) in
            for id in ids where try !catalogue().listItems.contains(id, inList: list) {
                try deleteRecord(id, of: list, &totals)
            }
        }
    }

    private func deleteRecord(_ id: String, of list: Int64, _ totals: inout Totals) throws(StoreError) {
        let catalogue = try catalogue()
        try catalogue.listRecords.delete(id, ofList: list)
        try catalogue.pendingItems.delete(id, ofList: list)
        if let set = try catalogue.pins.set(ofList: list) { try unpin(record: id, of: set, &totals) }
    }

    // MARK: Pages

    /// Stores the records of a page and settles their ids. The ids without a record return to the queue.
    ///
    /// - Returns: The stored records. A record is skipped if its id was removed or requested again meanwhile, or if another sync has
    ///   settled it, because the stored record may be newer.
    func settle(_ list: Int64, _ records: [NewListRecord], missing: [String]) throws(StoreError) -> [StoredListRecord] {
        let bytes = records.reduce(0) { $0 + 600 + Int64($1.body.count) * 5 / 4 }
        return try changeWithRoom(for: bytes) { (totals) throws(StoreError) in
            let catalogue = try catalogue()
            guard let state = try catalogue.lists.list(list) else { throw taken }
            var change = state.change
            var stored: [StoredListRecord] = []
            for record in records {
                guard let item = try catalogue.listItems.item(record.item.id, ofList: list),
                    try catalogue.pendingItems.settle(item.id, ofList: list, askedBy: record.asked.revision)
                else { continue }
                change += 1
                try catalogue.listRecords.insert(record, list: list, change: change)
                try pin(record.files, record: item.id, ofList: list, &totals)
                stored.append(
                    StoredListRecord(
                        id: item.id, isNumeric: item.isNumeric, modified: record.item.modified, body: record.body,
                        change: change))
            }
            for id in missing { try catalogue.pendingItems.noteAttempt(id, ofList: list) }
            try catalogue.lists.saveChange(change, ofList: list)
            return stored
        }
    }

    // MARK: Removing

    /// Removes lists immediately. Their rows and pins remain, for ``collectGarbage()``.
    func discard(_ lists: [Int64]) throws(StoreError) {
        if lists.isEmpty { return }
        try change { (_) throws(StoreError) in
            for list in lists { try catalogue().lists.discard(list) }
        }
    }

    /// Deletes some rows of a removed list, in one transaction: first its pins, which hold files. Returns false if no removed list has rows.
    func collectGarbage() throws(StoreError) -> Bool {
        guard let list = try catalogue().lists.garbage() else { return false }
        try change { (totals) throws(StoreError) in
            if let set = try catalogue().pins.set(ofList: list) {
                _ = try deleteSome(ofPinSet: set, &totals)
            } else {
                _ = try catalogue().lists.deleteGarbage(ofList: list, limit: listBatch)
            }
        }
        return true
    }
}
