import ConcurrencyPrimitives
import DiskStore
import HTTPCaching
import ImageCache
import Transfer

/// Large bodies from the remote store. Their parts become a partial on this machine's disk, as if it had received them from the origin. An ordinary
/// resume requests the missing bytes from the origin.
extension RemoteFetch {
    /// The longest time between two look-ups of further parts.
    private static let longestPause = Duration.milliseconds(500)

    /// Reads the parts of a large body as another machine uploads them, until none has appeared for the time of a lease.
    func followParts(
        _ finding: TierFinding, in generation: Generation
    ) async throws(ImageCacheError) -> TierFinding {
        guard access.waiting != .none else { return finding }
        let leaseTime = remote.configuration.leaseTime
        var (finding, count, grown) = (finding, partsFound, ContinuousClock.now)
        while .now - grown < patience(leaseTime) {
            do { try await Task.sleep(for: min(leaseTime / 10, Self.longestPause)) } catch { throw .cancelled }
            finding = await storeFromRemote(in: generation).after(finding)
            if finding.entry != nil { return finding }
            guard partsFound > count else { continue }
            (count, grown) = (partsFound, .now)
        }
        return finding
    }

    /// The time to wait for the next part. A client without the response's head waits only for a third of the lease time, which is enough to see
    /// that another machine uploads parts.
    private func patience(_ leaseTime: Duration) -> Duration {
        access.waiting == .untilStalled || access.hasStarted ? leaseTime : leaseTime / 3
    }

    /// Stores the parts of a body. If all of them were read and the list is complete, the body is committed.
    ///
    /// - Returns: The number of the new entry; `nil` if there is none. Then there may be a partial with parts from the store.
    func storeParts(
        _ list: PartList, of record: ResponseRecord, in generation: Generation
    ) async -> (entry: Int64?, hasParts: Bool) {
        guard mayContinue(list, of: record),
            let filling = await fill(list, of: record, in: generation)
        else { return (nil, false) }
        if list.digests != nil, let entry = await commit(filling, record, in: generation) {
            return (entry, filling.isOfUse)
        }
        // The only effect of a failure is that bytes are fetched again.
        try? filling.writer.keep()
        state.withLock { state in
            var digests = filling.digests
            if let former = state.found, former.identity == list.identity {
                digests = zip(digests, former.digests).map { $0 ?? $1 }
            }
            state.found = FoundParts(identity: list.identity, digests: digests)
        }
        return (nil, filling.isOfUse)
    }

    /// Returns true if the parts of a list may answer a request.
    private func mayContinue(_ list: PartList, of record: ResponseRecord) -> Bool {
        resolved.partialKey == resolved.key && resolved.request.resumes && record.validator != nil
            && sharing.isUsable(record, for: resolved)
            && record.mayBeContinued(by: resolved.cacheRequest.fields, rules: sharing.rules)
            && sharing.rules.variantKey(of: record.response) != nil
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
        _ list: PartList, of record: ResponseRecord, in generation: Generation
    ) async -> Filling? {
        guard let writer = access.beginBody(in: generation) else { return nil }
        do throws(StoreError) {
            guard try start(writer, list, record) else {
                try writer.keep()
                return nil
            }
        } catch {
            access.note(error)
            try? writer.discard()
            return nil
        }
        if list.digests != nil { access.announce(record, length: list.total) }
        return await receive(list, of: record, into: writer)
    }

    /// Begins a body, or resumes the held partial if it belongs to the same representation.
    ///
    /// - Returns: False if the held partial belongs to a later representation.
    private func start(_ writer: BodyWriter, _ list: PartList, _ record: ResponseRecord) throws(StoreError) -> Bool {
        if let held = writer.held, let own = ResponseRecord(decoding: held.header) {
            let isSame =
                held.total == list.total && own.validator == record.validator
                && sharing.rules.signatures.isSameResource(own.finalURL, record.finalURL)
                && sharing.rules.variantKey(of: own.response) == sharing.rules.variantKey(of: record.response)
            if isSame { return true }
            if own.validator != nil, own.response.requestTime > record.response.requestTime { return false }
        }
        try writer.start(header: record.encoded, total: list.total)
        return true
    }

    /// Reads and writes the missing parts, a limited number at a time.
    private func receive(
        _ list: PartList, of record: ResponseRecord, into writer: BodyWriter
    ) async -> Filling {
        var filling = Filling(
            writer: writer,
            digests: list.digests.map { $0.map(Optional.some) } ?? [[UInt8]?](repeating: nil, count: list.count))
        let missing = writer.held?.missing ?? [0..<list.total]
        var rest = (0..<list.count).filter { index in missing.contains { $0.overlaps(list.range(of: index)) } }[...]
        if list.digests == nil, !rest.isEmpty, let there = await remote.partsThere(of: list) {
            rest = rest.filter(there.contains)[...]
            // There are more parts than before, so another machine uploads them. The origin sends those that are missing in the end.
            if state.withLock({ $0.hasLooked }), !rest.isEmpty { access.announce(record, length: list.total) }
        }
        access.report { progress in
            progress.phase = .transferring
            progress.total = list.total
            progress.received = writer.bytesHeld
            progress.resumedFrom = writer.bytesHeld
        }
        await withTaskGroup(of: (Int, PartReading).self) { group in
            func add() {
                guard let index = rest.popFirst() else { return }
                group.addTask { [remote] in (index, await remote.part(index, of: list)) }
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
                    access.advance(by: writer)
                    access.report { $0.received = writer.bytesHeld }
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
                    access.note(error)
                    return false
                }
            }
            return true
        }
    }

    private func commit(
        _ filling: Filling, _ record: ResponseRecord, in generation: Generation
    ) async -> Int64? {
        guard filling.writer.held?.missing.isEmpty == true else { return nil }
        do throws(StoreError) { return try await access.commit(record, filling.writer, in: generation) } catch {
            access.note(error)
            return nil
        }
    }
}
