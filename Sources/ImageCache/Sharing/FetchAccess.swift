import ConcurrencyPrimitives
package import DiskStore
import HTTPCaching

/// A fetch as a ``SharedTier`` sees it: its request, the callers who wait, and the way of a response to the disk.
package struct FetchAccess: Sendable {
    package let resolved: ResolvedRequest
    let task: FetchPool.SharedTask
    let consumer: Fetcher.Consumer
    let fetcher: Fetcher

    private var fetch: Fetch { task.context }

    // MARK: Callers

    /// The time that the callers wait for another fetch.
    package var waiting: KeyWaiting { consumer.waiting }
    /// True if callers have the start of the response.
    package var hasStarted: Bool { fetch.start.settled() != nil }
    /// True if the response is passed through without being stored.
    package var isPassedThrough: Bool {
        switch fetch.start.settled() {
        case .passthrough, .head: true
        case .file, .live, .failed, nil: false
        }
    }
    /// The progress of the fetch.
    package var progress: DownloadProgress { fetch.latest }

    package func report(_ change: (inout DownloadProgress) -> Void) { fetch.report(change) }

    /// Shows the bytes on disk to callers who follow the body.
    package func advance(by writer: BodyWriter) { fetch.bodyProgress.advance(by: writer) }

    /// Announces a response whose body is being stored, if it is fresh. Waiting callers then follow the growing body.
    package func announce(_ record: ResponseRecord, length: Int64) {
        var response = record.response
        response.extent = .complete(length: length)
        let decision = StoredDecision(
            resolved.cacheRequest, stored: [response], allowing: .fresh, by: fetcher.rules, at: fetcher.now())
        guard decision.served != nil, resolved.request.expectedDigest == nil else { return }
        if response.redirects.isEmpty {
            fetch.followable.fulfill(FollowableResponse(response: response, version: fetch.bodyProgress.version))
        }
        guard case .response(_, let publishing) = consumer, !hasStarted else { return }
        if let publishing { fetcher.pool.publish(task, under: publishing) }
        var status = decision.status
        status.detail = "REMOTE"
        fetch.start.fulfill(.live(response, status, version: fetch.bodyProgress.version, fetch.bodyProgress))
    }

    // MARK: The disk

    /// Begins a body in the store, or resumes its partial; `nil` if the store does not take it.
    package func beginBody(in generation: Generation) -> BodyWriter? {
        try? fetcher.beginBody(resolved.partialKey, generation)
    }

    /// Commits a complete body as if the origin had sent it.
    ///
    /// - Returns: The number of its entry; `nil` if the response must not be stored, or a later one is.
    package func commit(
        _ record: ResponseRecord, _ writer: BodyWriter, in generation: Generation
    ) async throws(StoreError) -> Int64? {
        guard let variant = fetcher.rules.variantKey(of: record.response) else { return nil }
        let new = fetcher.newEntry(for: record, variant: variant, resolved, generation)
        return try await fetcher.commit(new, record, writer)?.entry.id
    }

    /// Notes an error of the store, which only means that bytes are fetched again.
    package func note(_ error: StoreError) { fetcher.warnings.note(ImageCacheError(error)) }
}

extension CachedFile {
    /// The file, marked as coming from the tier in this request.
    var fromRemote: CachedFile {
        var file = self
        file.source = .remote
        file.bytesTransferred = size
        file.cacheStatus.detail = "REMOTE"
        return file
    }
}
