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
        defer { fetch.end() }
        do throws(ImageCacheError) {
            let file = try await work()
            fetch.start.fulfill(.file(file))
            return file
        } catch {
            let error = error.with(url: resolved.request.url)
            fetch.start.fulfill(.failed(error))
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
            .growing(followable.response, status, version: followable.version, subscription.context.growth))
        // Readers have the head: what fails now fails for them.
        return try await subscription.value()
    }

    /// Sends a request on whose response answers nobody else, but for a POST's that says it answers a later GET (RFC 9110
    /// section 9.3.3). Returns when the response has ended.
    ///
    /// - Returns: what was stored.
    /// - Throws: `.notStorable` after a response that went past the store.
    func passOn(
        _ resolved: ResolvedRequest, _ status: CacheStatus, _ fetch: Fetch
    ) async throws(ImageCacheError) -> CachedFile {
        let generation = store.generation(of: resolved.url)
        let sink = ResponseSink(
            resolved: resolved, rules: rules, fetch: fetch, status: status,
            makeStoring: {
                guard resolved.request.method == .post else { throw CancellationError() }
                let writer = try beginBody(resolved.key.ofStatus, generation)
                return .init(
                    download: DownloadSink(resolved: resolved, rules: rules, writer: writer, fetch: fetch),
                    writer: writer)
            }, warnings: warnings,
            began: { fetch.start.fulfill($0) })
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.run(
                resolved.transferRequest(), into: sink, events: { resolved.report($0, to: fetch) })
        } catch {
            sink.passed?.finish(.failure(ImageCacheError(error)))
            sink.leavePartials()
            throw ImageCacheError(error)
        }
        let after = invalidate(after: result.head, resolved, generation)
        var status = status
        status.forwardStatus = result.head.status.code
        if let passed = sink.passed {
            passed.finish(.success(()))
        } else if let target = sink.target {
            do throws(ImageCacheError) {
                return try store(
                    result, sink: target.download, writer: target.writer, resolved: resolved, status, after)
            } catch {
                warnings.note(error)
                if error.isOfAlteredPartial { sink.leavePartials() } else { sink.giveUnstored() }
                throw error
            }
        } else {
            fetch.start.fulfill(.head(result.head.passedOn, status))
        }
        throw ImageCacheError(.notStorable, url: resolved.url, message: "was passed on, and must not be stored")
    }
}
