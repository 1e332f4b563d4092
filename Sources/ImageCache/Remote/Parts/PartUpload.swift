import ConcurrencyPrimitives
import DiskStore

/// The upload of one body's parts, behind its transfer: each is read from the disk when its upload begins.
final class PartUpload: Sendable {
    private struct State {
        var progress: PartProgress
        /// A list, without the digests or with them, is written, or about to be.
        var hasList: Bool
        /// One is in the store.
        var isListStored: Bool
        /// A part of this upload is in the store.
        var hasUploaded = false
        /// The body is in the local store, with this head.
        var completion: (head: [UInt8], epoch: Generation.Epoch)?
        /// The list with the digests is written.
        var isListed = false
        /// Failures in a row.
        var failures = 0
        var isRetrying = false
    }

    /// A part whose upload has begun; released without ``PartUpload/finished(_:_:)``, also when the queue drops it, it has failed.
    final class Ticket: Sendable {
        let upload: PartUpload
        let index: Int

        fileprivate init(_ upload: PartUpload, _ index: Int) {
            self.upload = upload
            self.index = index
        }

        deinit { upload.failed(index) }
    }

    /// After so many failures in a row, only what arrives or completes begins an attempt.
    private static let maxFailures = 12

    let key: EntryKey
    let url: String
    /// The state before the origin was asked, with the lease: given back when it ``canBeFollowed``, or is given up.
    let fill: RemoteFill
    /// Without digests.
    let list: PartList
    private let head: [UInt8]
    private let epoch: Generation.Epoch
    private let body: PartialBody
    /// The parts that stood on the disk before, and perhaps in the remote store too.
    private let former: Set<Int>
    private let state: Locked<State>

    /// - Parameters:
    ///   - url: The key URL.
    ///   - fill: The state before the origin was asked.
    ///   - head: The record that a list begins with.
    ///   - body: The growing body.
    ///   - former: The parts that the body has already.
    ///   - known: What another machine has left in the store, if its list is the same.
    init(
        _ list: PartList, key: EntryKey, url: String, fill: RemoteFill, head: [UInt8], epoch: Generation.Epoch,
        body: PartialBody, former: Set<Int>, known: FoundParts?, width: Int
    ) {
        self.list = list
        self.key = key
        self.url = url
        self.fill = fill
        self.head = head
        self.epoch = epoch
        self.body = body
        self.former = former
        let digests = known?.digests ?? [[UInt8]?](repeating: nil, count: list.count)
        state = Locked(
            State(
                progress: PartProgress(digests: digests, width: width), hasList: known != nil,
                isListStored: known != nil))
    }

    /// The parts that are in the store, for another upload of the same body.
    var found: FoundParts {
        state.withLock { FoundParts(identity: list.identity, digests: $0.progress.known) }
    }

    func offer(_ indexes: some Sequence<Int>) {
        state.withLock { state in
            for index in indexes { state.progress.offer(index) }
        }
    }

    /// The number of parts from the first one on that are in the store; `nil` after a failure: the store takes nothing.
    var uploadedCount: Int? { state.withLock { $0.failures == 0 ? $0.progress.uploadedCount : nil } }

    func hasOffer(of index: Int) -> Bool { state.withLock { $0.progress.hasOffer(of: index) } }

    /// The body is in the local store.
    func complete(head: [UInt8], epoch: Generation.Epoch) {
        offer(0..<list.count)
        state.withLock { $0.completion = (head, epoch) }
    }

    /// Begins as many uploads as may run.
    func begin() -> [Ticket] {
        state.withLock { state in
            var tickets: [Ticket] = []
            while let index = state.progress.next() { tickets.append(Ticket(self, index)) }
            return tickets
        }
    }

    func finished(_ index: Int, digest: [UInt8]) {
        state.withLock { state in
            state.progress.finished(index, digest: digest)
            (state.failures, state.hasUploaded) = (0, true)
        }
    }

    /// The pause after a failure, before the next attempt that nothing else has begun by then; `nil`: there is one already, or there
    /// have been too many failures in a row.
    func pauseAfterFailure() -> Duration? {
        state.withLock { state in
            state.failures += 1
            guard !state.isRetrying, state.failures < Self.maxFailures else { return nil }
            state.isRetrying = true
            return .seconds(min(1 << state.failures / 2, 30))
        }
    }

    /// The pause is over.
    func endPause() { state.withLock { $0.isRetrying = false } }

    private func failed(_ index: Int) { state.withLock { $0.progress.failed(index) } }

    /// The epoch in which the body must be current to be shared.
    var currentEpoch: Generation.Epoch { state.withLock { $0.completion?.epoch ?? epoch } }

    /// Returns true if the list is to be written: after the first part, and when all parts are there and the body is complete.
    func takesList() -> Bool {
        state.withLock { state in
            if state.completion != nil, state.progress.allDigests != nil {
                defer { (state.hasList, state.isListed) = (true, true) }
                return !state.isListed
            }
            guard !state.hasList, state.progress.hasAny else { return false }
            state.hasList = true
            return true
        }
    }

    /// A list is in the store.
    func listStored() { state.withLock { $0.isListStored = true } }

    /// True if other machines can see that the body comes: from now on they follow its parts, and need no lease to wait for.
    var canBeFollowed: Bool { state.withLock { $0.isListStored && $0.hasUploaded } }

    /// The list is to be written again with the next part.
    func listFailed() { state.withLock { ($0.hasList, $0.isListed) = (false, false) } }

    /// The object with the list, as it is now.
    func listObject() -> [UInt8] {
        let (head, digests) = state.withLock { [began = head] state in
            (state.completion?.head ?? began, state.completion == nil ? nil : state.progress.allDigests)
        }
        let list = PartList(list.identity, total: list.total, partSize: list.partSize, digests: digests)
        return RemoteObject.encode(head: head, parts: list, key: key)
    }

    /// True if a part may be in the store already.
    func mayBeThere(_ index: Int) -> Bool { former.contains(index) }

    /// A part as an object, with the place of its bytes; `nil` when they were altered on the disk.
    func object(ofPart index: Int) -> (bytes: [UInt8], content: Range<Int>)? {
        let prefix = PartObject.prefix(of: index, list)
        guard let bytes = try? body.verifiedBytes(list.range(of: index), behind: prefix) else { return nil }
        return (bytes, prefix.count..<bytes.count)
    }
}

/// The parts of a body that are in the remote store, as far as this machine knows.
struct FoundParts: Sendable {
    let identity: PartIdentity
    /// One for each part; nil: not known to be there.
    var digests: [[UInt8]?]
}
