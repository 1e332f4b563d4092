import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// The origin's side of a request that is passed on.
extension Fetcher {
    /// The fetch of a response, begun for whoever asked first.
    ///
    /// - Parameter consumer: ``Consumer/response(_:publishing:)``.
    func respond(
        _ resolved: ResolvedRequest, _ task: FetchPool.SharedTask, for consumer: Consumer
    ) async throws(ImageCacheError) -> CachedFile {
        try await starting(task.context, resolved) { () async throws(ImageCacheError) in
            try await load(resolved, task, for: consumer)
        }
    }

    /// Tells those of the fetch's end who still wait for its start.
    func starting(
        _ fetch: Fetch, _ resolved: ResolvedRequest, _ work: () async throws(ImageCacheError) -> CachedFile
    ) async throws(ImageCacheError) -> CachedFile {
        do throws(ImageCacheError) {
            let file = try await work()
            fetch.start.fulfill(.file(file))
            fetch.end(with: file)
            return file
        } catch {
            let error = error.with(url: resolved.request.url)
            fetch.start.fulfill(.failed(error))
            fetch.end()
            throw error
        }
    }

    /// Answers from the body that another load of this process brings, such as a thumbnail's original, if that is an answer to
    /// this request.
    ///
    /// - Returns: The file; `nil`: the origin is to be asked.
    func follow(
        _ other: RunningFetches.Running, _ resolved: ResolvedRequest, _ conditional: ConditionalRequest, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile? {
        guard let subscription = pool.join(other.task) else { return nil }
        guard let followable = await subscription.context.followable.value() else { throw .cancelled }
        guard let followable, case .complete(let length?) = followable.response.extent,
            FetchTerms(resolved).mayFollow(other.terms, length: length),
            rules.variantKey(of: resolved.cacheRequest.fields, for: followable.response.fields) != nil,
            rules.isSelected(followable.response, by: resolved.cacheRequest.fields)
        else { return nil }
        var status = conditional.status
        status.forwardStatus = followable.response.status.code
        status.stored = true
        status.collapsed = true
        fetch.start.fulfill(
            .growing(
                followable.response.withEmptyCookies, status, version: followable.version,
                subscription.context.growth))
        // Readers have the head: what fails now fails for them.
        return try await subscription.value().sharing(true)
    }

    /// Sends one client's request on, past the store (``Consumer/oneClient``). Returns when the response has ended.
    ///
    /// - Throws: `.notStorable` after a response that went past the store.
    func passOn(
        _ resolved: ResolvedRequest, _ status: CacheStatus, _ task: FetchPool.SharedTask, in generation: Generation
    ) async throws(ImageCacheError) -> CachedFile {
        try await starting(task.context, resolved) { () async throws(ImageCacheError) in
            try await askOrigin(
                OriginRequest(
                    resolved: resolved, conditional: ConditionalRequest(unconditional: status),
                    generation: generation, task: task, consumer: .oneClient, lock: nil))
        }
    }
}
