import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import Transfer

/// Large bodies from the remote store. Their parts become a partial on this machine's disk, as if it had received them from the origin. An ordinary
/// resume requests the missing bytes from the origin.
extension RemoteSource {
    /// The longest time between two look-ups of further parts.
    private static let longestPause = Duration.milliseconds(500)

    /// Reads the parts of a large body as another machine uploads them, until none has appeared for the time of a lease.
    func followParts(
        _ finding: RemoteLookupResult, _ look: RemoteLookup
    ) async throws(ImageCacheError) -> RemoteLookupResult {
        guard look.consumer.waiting != .none else { return finding }
        let leaseTime = remote.configuration.leaseTime
        var (finding, count, grown) = (finding, look.partsFound, ContinuousClock.now)
        while .now - grown < patience(leaseTime, look) {
            do { try await Task.sleep(for: min(leaseTime / 10, Self.longestPause)) } catch { throw .cancelled }
            finding = await storeFromRemote(look).after(finding)
            if finding.entry != nil { return finding }
            guard look.partsFound > count else { continue }
            (count, grown) = (look.partsFound, .now)
        }
        return finding
    }

    /// The time to wait for the next part. A client without the response's head waits only for a third of the lease time, which is enough to see
    /// that another machine uploads parts.
    private func patience(_ leaseTime: Duration, _ look: RemoteLookup) -> Duration {
        look.consumer.waiting == .untilStalled || look.task.context.start.settled() != nil ? leaseTime : leaseTime / 3
    }

    /// Stores the parts of a body. If all of them were read and the list is complete, the body is committed.
    ///
    /// - Returns: The number of the new entry; `nil` if there is none. Then there may be a partial with parts from the store.
    func storeParts(
        _ list: PartList, of record: ResponseRecord, for look: RemoteLookup
    ) async -> (entry: Int64?, hasParts: Bool) {
        guard mayContinue(list, of: record, look.resolved),
            let filling = await fill(list, of: record, for: look)
        else { return (nil, false) }
        if list.digests != nil, let entry = await commit(filling, list, record, look) {
            return (entry, filling.isOfUse)
        }
        // The only effect of a failure is that bytes are fetched again.
        try? filling.writer.keep()
        look.task.context.shared.withLock { shared in
            var digests = filling.digests
            if let former = shared.found, former.identity == list.identity {
                digests = zip(digests, former.digests).map { $0 ?? $1 }
            }
            shared.found = FoundParts(identity: list.identity, digests: digests)
        }
        return (nil, filling.isOfUse)
    }

    /// Returns true if the parts of a list may answer a request.
    private func mayContinue(_ list: PartList, of record: ResponseRecord, _ resolved: ResolvedRequest) -> Bool {
        resolved.partialKey == resolved.key && resolved.request.resumes && record.validator != nil
            && rules.isUsable(record, for: resolved)
            && record.mayBeContinued(by: resolved.cacheRequest.fields, rules: fetcher.rules)
            && fetcher.rules.variantKey(of: record.response) != nil
    }

    /// A body that is assembled from parts.
    private struct Filling {
        var writer: BodyWriter
        /// The digest of each part that is in the store.
        var digests: [[UInt8]?]
        /// True if bytes were read from the store.
        var isOfUse = false
    }

    private func fill(
        _ list: PartList, of record: ResponseRecord, for look: RemoteLookup
    ) async -> Filling? {
        guard let writer = try? fetcher.beginBody(look.resolved.partialKey, look.generation) else { return nil }
        do throws(StoreError) {
            guard try start(writer, list, record) else {
                try writer.keep()
                return nil
            }
        } catch {
            fetcher.warnings.note(ImageCacheError(error))
            try? writer.discard()
            return nil
        }
        if list.digests != nil { announce(record, list, to: look) }
        return await receive(list, of: record, into: writer, look)
    }

    /// Begins a body, or resumes the held partial if it belongs to the same representation.
    ///
    /// - Returns: False if the held partial belongs to a later representation.
    private func start(_ writer: BodyWriter, _ list: PartList, _ record: ResponseRecord) throws(StoreError) -> Bool {
        if let held = writer.held, let own = ResponseRecord(decoding: held.header) {
            let isSame =
                held.total == list.total && own.validator == record.validator
                && fetcher.rules.signatures.isSameResource(own.finalURL, record.finalURL)
                && fetcher.rules.variantKey(of: own.response) == fetcher.rules.variantKey(of: record.response)
            if isSame { return true }
            if own.validator != nil, own.response.requestTime > record.response.requestTime { return false }
        }
        try writer.start(header: record.encoded, total: list.total)
        return true
    }

    /// Reads and writes the missing parts, a limited number at a time.
    private func receive(
        _ list: PartList, of record: ResponseRecord, into writer: BodyWriter, _ look: RemoteLookup
    ) async -> Filling {
        let fetch = look.task.context
        var filling = Filling(
            writer: writer,
            digests: list.digests.map { $0.map(Optional.some) } ?? [[UInt8]?](repeating: nil, count: list.count))
        let missing = writer.held?.missing ?? [0..<list.total]
        var rest = (0..<list.count).filter { index in missing.contains { $0.overlaps(list.range(of: index)) } }[...]
        if list.digests == nil, !rest.isEmpty, let there = await remote.partsThere(of: list) {
            rest = rest.filter(there.contains)[...]
            // There are more parts than before, so another machine uploads them. The origin sends those that are missing in the end.
            if look.hasLooked, !rest.isEmpty { announce(record, list, to: look) }
        }
        fetch.report { progress in
            progress.phase = .transferring
            progress.total = list.total
            progress.received = writer.bytesHeld
            progress.resumedFrom = writer.bytesHeld
        }
        await withTaskGroup(of: (Int, PartReading).self) { group in
            func add() {
                guard let index = rest.popFirst() else { return }
                group.addTask { (index, await remote.part(index, of: list)) }
            }
            for _ in 0..<PartList.readsAtOnce { add() }
            while let (index, reading) = await group.next() {
                switch reading {
                case .object(let object, let content, let digest):
                    guard write(object, content, list.range(of: index), missing, to: writer) else {
                        rest = []
                        continue
                    }
                    filling.digests[index] = digest
                    filling.isOfUse = true
                    fetch.bodyProgress.advance(by: writer)
                    fetch.report { $0.received = writer.bytesHeld }
                case .missing: filling.digests[index] = nil
                case .failed: rest = []
                }
                add()
            }
        }
        return filling
    }

    /// Writes the missing bytes of a part. Returns false if that failed.
    private func write(
        _ object: [UInt8], _ content: Range<Int>, _ part: Range<Int64>, _ missing: [Range<Int64>],
        to writer: BodyWriter
    ) -> Bool {
        object.withUnsafeBytes { object in
            let bytes = UnsafeRawBufferPointer(rebasing: object[content])
            for range in missing where range.overlaps(part) {
                let range = range.clamped(to: part)
                let start = Int(range.lowerBound - part.lowerBound)
                do throws(StoreError) {
                    try writer.write(
                        UnsafeRawBufferPointer(rebasing: bytes[start..<start + range.count]), at: range.lowerBound)
                } catch {
                    fetcher.warnings.note(ImageCacheError(error))
                    return false
                }
            }
            return true
        }
    }

    private func commit(
        _ filling: Filling, _ list: PartList, _ record: ResponseRecord, _ look: RemoteLookup
    ) async -> Int64? {
        guard let variant = fetcher.rules.variantKey(of: record.response), filling.writer.held?.missing.isEmpty == true
        else {
            return nil
        }
        do throws(StoreError) {
            let new = fetcher.newEntry(for: record, variant: variant, look.resolved, look.generation)
            return try await fetcher.commit(new, record, filling.writer)?.entry.id
        } catch {
            fetcher.warnings.note(ImageCacheError(error))
            return nil
        }
    }

    /// Announces the response to waiting requests, if it is fresh. They then follow the growing body.
    private func announce(_ record: ResponseRecord, _ list: PartList, to look: RemoteLookup) {
        let (request, fetch) = (look.resolved, look.task.context)
        var response = record.response
        response.extent = .complete(length: list.total)
        let decision = StoredDecision(
            request.cacheRequest, stored: [response], allowing: .fresh, by: fetcher.rules, at: fetcher.now())
        guard decision.served != nil, request.request.expectedDigest == nil else { return }
        if response.redirects.isEmpty {
            fetch.followable.fulfill(FollowableResponse(response: response, version: fetch.bodyProgress.version))
        }
        guard case .response(_, let publishing) = look.consumer, fetch.start.settled() == nil else { return }
        if let publishing { fetcher.pool.publish(look.task, under: publishing) }
        var status = decision.status
        status.detail = "REMOTE"
        fetch.start.fulfill(.live(response, status, version: fetch.bodyProgress.version, fetch.bodyProgress))
    }
}
