import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPSemantics
import ImageCache
import JSONParsing
import TextIdentity
import Transfer
import Units

/// One sync of a list: takes its lock, fetches the array of ids, the pages and the files.
struct ListSync: Sendable {
    let cache: DownloadCache
    let name: ListName
    let source: JSONListSource
    let send: @Sendable (RecordListChange) async -> Void

    func run() async throws(ImageCacheError) {
        let known = try translating { try cache.blocking.store.list(name) }
        let lock = try await lock(following: known)
        defer { lock?.release() }
        var summary = RecordListSummary()
        var list = try translating {
            try cache.blocking.store.collectListGarbage()
            return try cache.blocking.store.openList(name)
        }
        try translating { try cache.blocking.store.forgetAttempts(of: list) }
        // The sync that took the current array over may have ended before it deleted all records.
        summary.removed = try await tellRemoved(from: list, at: list.revision, deletingRecords: true, hasRemains: true)
        if isDue(list) {
            summary.askedServer = true
            summary.removed += try await takeArray(of: &list)
        }
        let pages = ListPages(sync: self, list: list)
        try await pages.fetch(&summary)
        try await downloadFiles(of: list, &summary)
        summary.pending = Int(try translating { try cache.blocking.store.pendingCount(of: list) })
        await send(.finished(summary))
    }

    func translating<Result>(_ body: () throws -> Result) throws(ImageCacheError) -> Result {
        try cache.blocking.translating(body)
    }

    /// Returns true if the array should be fetched. A date in the future was written before the clock was set back.
    private func isDue(_ list: ListState) -> Bool {
        let now = cache.now().timeIntervalSince1970 * 1000
        let age = now - Double(list.checked)
        return list.checked == 0 || age < 0 || age >= source.minimumInterval.inSeconds * 1000
    }

    // MARK: One sync at a time

    /// Acquires the list's lock. While another sync has it, reports that sync's changes as its own.
    ///
    /// - Returns: `nil` if the other sync makes no progress within the time-outs of the source. The lock only avoids duplicate work, so
    ///   this sync can run without it.
    private func lock(following known: ListState?) async throws(ImageCacheError) -> ByteLock? {
        let key = EntryKey(.list(owner: name.owner.asBytes, group: name.group.asBytes, name: name.name.asBytes))
        var patience = KeyPatience(.untilStalled, source.ids.transfer, now: .now)
        var follower = ListFollower(sync: self, known: known)
        var wait = Duration.milliseconds(10)
        while true {
            if let lock = try translating({ try cache.blocking.store.tryLock(key) }) {
                try await follower.tellNews()
                return lock
            }
            try await follower.tellNews()
            guard patience.lasts(at: .now, progress: follower.progress) else { return nil }
            do { try await Task.sleep(for: wait) } catch { throw .cancelled }
            wait = min(wait * 3 / 2, .milliseconds(200))
        }
    }

    // MARK: The array of ids

    /// Fetches the array, and stores it if it has changed.
    ///
    /// - Returns: The number of removed ids.
    private func takeArray(of list: inout ListState) async throws(ImageCacheError) -> Int {
        let before = list
        let asked = try ListArrayRequest(requestOfList(source.ids), of: source, list) { () throws(ImageCacheError) in
            try translating { try cache.blocking.store.newestModified(of: before) }
        }
        guard let file = try await array(asked) else {
            try translating { try cache.blocking.store.noteListChecked(list) }
            return 0
        }
        defer {
            if !asked.isKept, file.isStored { _ = try? cache.blocking.store.remove(file.body.entry) }
        }
        let note = ListArrayRequest.note(about: file, of: source)
        let isSame =
            asked.isKept && file.source == .revalidated && note == list.validator && list.revision > 0
        if file.size == 0 || isSame {
            try translating { try cache.blocking.store.noteListChecked(list) }
            return 0
        }
        let difference = try stage(file, list, isPartial: asked.isPartial, validator: note)
        guard let after = try translating({ try cache.blocking.store.list(name) }), after.list == before.list else {
            throw ImageCacheError(.cancelled, message: "the list \(name.name) was removed meanwhile")
        }
        list = after
        if difference.removed > 0 { try await tellRemoved(from: after, at: after.revision, deletingRecords: true) }
        return Int(difference.removed)
    }

    /// The response with the array; `nil` if nothing has changed since the requested date.
    private func array(_ asked: ListArrayRequest) async throws(ImageCacheError) -> CachedFile? {
        let file: CachedFile
        do throws(ImageCacheError) { file = try await cache.file(for: asked.request) } catch  where asked.isAboutDate {
            if error.code == .status(304) { return nil }
            throw error
        }
        if file.source == .stale {
            throw ImageCacheError(
                .unreachable, url: source.ids.urlWithoutUserinfo, message: "the list could not be asked for")
        }
        return file
    }

    /// Returns a request of the source, with the list's owner unless it has one.
    func requestOfList(_ request: FileRequest) -> FileRequest {
        var request = request
        if request.owner == nil, !name.owner.isEmpty { request.owner = name.owner }
        request.noStoreBehavior = .deliver
        return request
    }

    private func stage(
        _ file: CachedFile, _ list: ListState, isPartial: Bool, validator: String
    ) throws(ImageCacheError) -> ListDifference {
        do {
            let staging = try ListStaging(list, isPartial: isPartial, in: cache.blocking.store)
            var elements = JSONElements(ofArray: "an array of ids is expected")
            try file.forEachChunk { chunk in
                if Task.isCancelled { throw ImageCacheError.cancelled }
                try elements.append(chunk) { element in
                    let listed = try ListedElement(element)
                    if isPartial, listed.isDeleted {
                        try staging.remove(listed.item.id)
                    } else if !listed.isDeleted {
                        try staging.add(listed.item)
                    }
                }
            }
            try elements.end()
            return try staging.finish(validator: validator)
        } catch let fault as JSONFault {
            throw ImageCacheError(
                .wrongBytes, url: source.ids.urlWithoutUserinfo, message: "the list of ids is wrong at \(fault)")
        } catch {
            throw ImageCacheError(any: error)
        }
    }

    /// Reports the ids that a revision removed.
    ///
    /// - Parameters:
    ///   - deletingRecords: True to delete also their records, which can no longer be found.
    ///   - hasRemains: True for only those whose records are not deleted yet.
    /// - Returns: The number of ids.
    @discardableResult
    func tellRemoved(
        from list: ListState, at revision: Int64, deletingRecords: Bool, hasRemains: Bool = false
    ) async throws(ImageCacheError) -> Int {
        var last: Int64 = 0
        var count = 0
        while true {
            let after = last
            let rows = try translating {
                try cache.blocking.store.removed(
                    from: list, at: revision, after: after, hasRemains: hasRemains, limit: 500)
            }
            guard let end = rows.last else { return count }
            last = end.item
            count += rows.count
            if deletingRecords {
                try translating { try cache.blocking.store.deleteRecords(rows.map(\.listed.id), of: list) }
            }
            await send(
                .removed(rows.map { RemovedRecord(id: $0.listed.id, isNumericID: $0.listed.isNumeric) }))
        }
    }

    // MARK: Files

    /// Downloads the missing files of the records.
    private func downloadFiles(of list: ListState, _ summary: inout RecordListSummary) async throws(ImageCacheError) {
        guard source.files != nil, let set = try translating({ try cache.blocking.store.pinSet(of: list) }) else {
            return
        }
        let failures = try await PinDownload(cache: cache, set: set).run()
        guard !failures.isEmpty else { return }
        summary.failed += failures.count
        var failed: [FailedRecord] = []
        for failure in failures {
            let record = try translating { try cache.blocking.store.record(failure.record, of: list) }
            failed.append(
                FailedRecord(
                    id: failure.record, isNumericID: record?.isNumeric ?? false, file: failure.url,
                    message: failure.message))
        }
        await send(.failed(failed))
    }
}

/// Reports the changes of a sync in another task or process.
struct ListFollower {
    let sync: ListSync
    /// The state of the list that was last reported.
    var known: ListState?

    /// A number that increases as the other sync makes progress.
    var progress: Int64 { (known?.change ?? 0) &+ (known?.revision ?? 0) &+ (known?.checked ?? 0) }

    mutating func tellNews() async throws(ImageCacheError) {
        guard let now = try sync.translating({ try sync.cache.blocking.store.list(sync.name) }) else { return }
        let isSame = known?.list == now.list
        for revision in (isSame ? known?.revision ?? 0 : 0)..<now.revision {
            try await sync.tellRemoved(from: now, at: revision + 1, deletingRecords: false)
        }
        var change = isSame ? known?.change ?? 0 : 0
        while change < now.change {
            let after = change
            let records = try sync.translating {
                try sync.cache.blocking.store.records(of: now, afterChange: after, limit: 100)
            }
            guard let last = records.last else { break }
            change = last.change
            await sync.send(.records(records.map { ListRecord($0) }))
        }
        known = now
    }
}

extension CachedFile {
    /// Calls `body` with the file's bytes in chunks of up to 64 KiB.
    func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            let count = try self.body.read(into: buffer, at: offset)
            guard count > 0 else {
                throw ImageCacheError(.wrongBytes, path: path, message: "the file ends before its length")
            }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }
}
