import DiskStore
import ImageCache
import JSONParsing
import Transfer

/// Fetches the pages of a sync in parallel, newest ids first. Each page is stored together with the state of its ids.
struct ListPages: Sendable {
    let sync: ListSync
    let list: ListState

    private var source: JSONListSource { sync.source }
    private var cache: DownloadCache { sync.cache }

    private enum Outcome: Sendable {
        case stored([StoredListRecord], missing: [PendingItem], failures: [FailedRecord])
        case failed(ImageCacheError)
    }

    /// The limit of the delays between attempts that double.
    private static let longestDelay = Duration.seconds(60)

    /// Fetches all pending records. Ids that are missing in their page are retried after all others.
    func fetch(_ summary: inout RecordListSummary) async throws(ImageCacheError) {
        var delay = source.retryDelay
        let attempts = max(1, source.attempts)
        for attempt in 0..<attempts {
            guard let first = try pending(after: .first(ofAttempt: Int64(attempt)), 1).first else { return }
            // Another sync, which ran at the same time, may have tried them already.
            if first.place.attempts > attempt { continue }
            if attempt > 0 {
                do { try await Task.sleep(for: delay) } catch { throw .cancelled }
                delay = min(delay * 2, max(source.retryDelay, Self.longestDelay))
            }
            try await fetch(attempt: Int64(attempt), isLast: attempt == attempts - 1, &summary)
        }
    }

    private func next(after place: PendingPlace, _ attempt: Int64, _ limit: Int) throws(ImageCacheError)
        -> [PendingItem]
    {
        try pending(after: place, limit).filter { $0.place.attempts == attempt }
    }

    /// The pending ids after a place, also those that were tried more often.
    private func pending(after place: PendingPlace, _ limit: Int) throws(ImageCacheError) -> [PendingItem] {
        try sync.translating { try cache.blocking.store.pending(of: list, after: place, limit: limit) }
    }

    private func fetch(attempt: Int64, isLast: Bool, _ summary: inout RecordListSummary) async throws(ImageCacheError) {
        var place = PendingPlace.first(ofAttempt: attempt)
        var failure: ImageCacheError?
        await withTaskGroup(of: Outcome.self) { group in
            var running = 0
            func startPages() {
                while failure == nil, running < max(1, source.pagesAtOnce), !Task.isCancelled {
                    do throws(ImageCacheError) {
                        let asked = try next(after: place, attempt, max(1, source.pageSize))
                        guard let last = asked.last else { return }
                        place = last.place
                        running += 1
                        group.addTask(executorPreference: cache.executor) { await page(asked) }
                    } catch { failure = error }
                }
            }
            startPages()
            while let outcome = await group.next() {
                running -= 1
                switch outcome {
                case .failed(let error): failure = failure ?? error
                case .stored(let records, let missing, let failures):
                    await tell(records, isLast ? missing : [], failures, &summary)
                }
                startPages()
            }
        }
        if let failure { throw failure }
        if Task.isCancelled { throw .cancelled }
    }

    private func tell(
        _ records: [StoredListRecord], _ missing: [PendingItem], _ failures: [FailedRecord],
        _ summary: inout RecordListSummary
    ) async {
        summary.records += records.count
        if !records.isEmpty { await sync.send(.records(records.map { ListRecord($0) })) }
        let failed =
            missing.map { item in
                FailedRecord(
                    id: item.item.id, isNumericID: item.item.isNumeric,
                    message: "the server lists it, and brought no record of it, \(source.attempts) times")
            } + failures
        summary.failed += failed.count
        if !failed.isEmpty { await sync.send(.failed(failed)) }
        let pending = (try? cache.blocking.store.pendingCount(of: list)) ?? 0
        await sync.send(.progress(RecordListProgress(stored: summary.records, pending: Int(pending))))
    }

    // MARK: One page

    private func page(_ asked: [PendingItem]) async -> Outcome {
        do throws(ImageCacheError) {
            var request = sync.requestOfList(source.page(asked.map(\.item.id)))
            request.policy = .reloadIgnoringLocalCacheData
            request.transfer.maxFileSize = min(request.transfer.maxFileSize ?? .max, source.maxPageSize)
            let file = try await cache.file(for: request)
            guard file.source != .stale else {
                throw ImageCacheError(
                    .unreachable, url: request.urlWithoutUserinfo, message: "the page could not be asked for")
            }
            // The page is removed, as its records are stored separately.
            defer { if file.isStored { _ = try? cache.blocking.store.remove(file.body.entry) } }
            var page = try parsed(file, asked, url: request.urlWithoutUserinfo)
            var failures: [FailedRecord] = []
            if let files = source.files {
                page.addFiles { pins(of: $0, files, &failures) }
            }
            let stored = try sync.translating {
                try cache.blocking.store.settle(page.records, missing: page.missing.map(\.item.id), of: list)
            }
            return .stored(stored, missing: page.missing, failures: failures)
        } catch {
            return .failed(error)
        }
    }

    private func parsed(_ file: CachedFile, _ asked: [PendingItem], url: String) throws(ImageCacheError) -> ListPage {
        do {
            var body: [UInt8] = []
            body.reserveCapacity(Int(file.size))
            try file.forEachChunk { body.append(contentsOf: $0) }
            if let records = source.records {
                do { return try ListPage(records(body), asked: asked) } catch {
                    throw ImageCacheError(.wrongBytes, url: url, message: "the page of records is wrong: \(error)")
                }
            }
            return try body.withUnsafeBytes { try ListPage($0, asked: asked, sortKey: source.sortKey) }
        } catch let fault as JSONFault {
            throw ImageCacheError(.wrongBytes, url: url, message: "the page of records is wrong at \(fault)")
        } catch {
            throw ImageCacheError(any: error)
        }
    }

    private func pins(
        of record: NewListRecord, _ files: (ListRecord) -> [FileRequest], _ failures: inout [FailedRecord]
    ) -> [NewPin] {
        var pins: [NewPin] = []
        for file in files(ListRecord(record.item, body: record.body)) {
            let request = sync.requestOfList(file)
            do throws(ImageCacheError) { pins.append(try cache.newPin(for: request)) } catch {
                failures.append(
                    FailedRecord(
                        id: record.item.id, isNumericID: record.item.isNumeric, file: request.urlWithoutUserinfo,
                        message: error.message))
            }
        }
        return pins
    }
}
