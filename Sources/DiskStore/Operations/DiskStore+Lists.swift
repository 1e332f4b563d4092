import ConcurrencyPrimitives

extension DiskStore {
    // MARK: Lists

    /// A list as it is stored; `nil` before its first sync.
    package func list(_ name: ListName) throws(StoreError) -> ListState? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().list(name) }
    }

    /// All lists.
    package func lists() throws(StoreError) -> [ListState] {
        try withIndex { (index) throws(StoreError) in try index.catalogue().lists() }
    }

    /// A list, which is made where there is none.
    package func openList(_ name: ListName) throws(StoreError) -> ListState {
        if let list = try list(name) { return list }
        return try withIndex { (index) throws(StoreError) in
            try index.changeWithRoom(for: 4096) { (_) throws(StoreError) in
                let catalogue = try index.catalogue()
                if let list = try catalogue.list(name) { return list }
                // Never one that a running sync may still hold for another list.
                try catalogue.insertList(name, id: Int64.random(in: 1..<Int64.max))
                guard let list = try catalogue.list(name) else {
                    throw StoreError(.damaged, "the index has lost a list", path: index.paths.index)
                }
                return list
            }
        }
    }

    /// Notes that a list's array was confirmed as it is.
    package func noteListChecked(_ list: ListState) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.change { (_) throws(StoreError) in
                try index.catalogue().saveChecked(index.now, ofList: list.list)
            }
        }
    }

    /// The newest modification time that a list has, as the server wrote it; empty: none.
    package func newestModified(of list: ListState) throws(StoreError) -> String {
        try withIndex { (index) throws(StoreError) in try index.catalogue().newestModified(ofList: list.list) }
    }

    /// Removes one list.
    package func removeList(_ name: ListName) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            if let list = try index.catalogue().list(name) { try index.discard([list.list]) }
        }
    }

    /// Removes the lists of an owner, or of one of its groups.
    package func removeLists(owner: String, group: String? = nil) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in
            try index.discard(index.catalogue().lists(owner: owner, group: group))
        }
    }

    /// Deletes the remains of lists whose removal was interrupted by the end of a process.
    package func collectListGarbage() throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.collectGarbage() }
    }

    // MARK: Records

    package func records(of list: ListState, _ request: ListPageRequest) throws(StoreError) -> [(
        record: StoredListRecord, place: ListPlace
    )] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().page(ofList: list.list, request).map { ($0.0, $0.1) }
        }
    }

    package func record(_ id: String, of list: ListState) throws(StoreError) -> StoredListRecord? {
        try withIndex { (index) throws(StoreError) in try index.catalogue().record(id, ofList: list.list) }
    }

    /// The records that were stored after a change.
    package func records(of list: ListState, afterChange change: Int64, limit: Int) throws(StoreError)
        -> [StoredListRecord]
    {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().records(ofList: list.list, afterChange: change, limit: Int64(limit))
        }
    }

    // MARK: Pending

    package func pendingCount(of list: ListState) throws(StoreError) -> Int64 {
        try withIndex { (index) throws(StoreError) in try index.catalogue().pendingCount(ofList: list.list) }
    }

    package func pending(
        of list: ListState, after place: PendingPlace, limit: Int
    ) throws(StoreError) -> [PendingItem] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().pending(ofList: list.list, after: place, limit: Int64(limit))
        }
    }

    /// Lets ids that were tried before count as untried.
    package func forgetAttempts(of list: ListState) throws(StoreError) {
        var isMore = true
        while isMore {
            isMore = try withIndex { (index) throws(StoreError) in
                try index.change { (_) throws(StoreError) in
                    try index.catalogue().forgetAttempts(ofList: list.list, limit: 500)
                }
            }
        }
    }

    /// Stores the records of a page and settles their ids, in one transaction.
    ///
    /// - Parameter missing: Ids that the page did not bring; they are tried again after the others.
    /// - Returns: The records that were stored.
    package func settle(
        _ records: [NewListRecord], missing: [String], of list: ListState
    ) throws(StoreError) -> [StoredListRecord] {
        try withIndex { (index) throws(StoreError) in try index.settle(list.list, records, missing: missing) }
    }

    // MARK: Removals

    /// The ids that a revision removed, with the number after which the next ones come.
    package func removed(
        from list: ListState, at revision: Int64, after item: Int64, limit: Int
    ) throws(StoreError) -> [(item: Int64, listed: ListedItem)] {
        try withIndex { (index) throws(StoreError) in
            try index.catalogue().removed(fromList: list.list, at: revision, after: item, limit: Int64(limit))
        }
    }

    /// Deletes the records of ids that are listed no longer.
    package func deleteRecords(_ ids: [String], of list: ListState) throws(StoreError) {
        try withIndex { (index) throws(StoreError) in try index.deleteRecords(ids, of: list.list) }
    }
}
