import ConcurrencyPrimitives
import DiskStore
import ImageCache

/// The upload of one body's parts during and after its transfer. Each part is read from the disk when its upload begins.
final class PartUpload: Sendable {
    private struct State {
        var progress: PartProgress
        /// True if a list, with or without digests, was written or is being written.
        var hasList: Bool
        /// True if a list is in the store.
        var isListStored: Bool
        /// True if this upload has stored a part.
        var hasUploaded = false
        /// The record and the epoch of the body after it was stored locally; `nil` before.
        var completion: (head: [UInt8], epoch: Generation.Epoch)?
        /// True if the list with the digests was written or is being written.
        var isListed = false
        /// The number of consecutive failures.
        var failures = 0
        var isRetrying = false
    }

    /// A part whose upload has begun. Releasing the ticket without ``PartUpload/finished(_:digest:)`` means that the upload failed, also if the
    /// queue dropped it.
    final class Ticket: Sendable {
        let upload: PartUpload
        let index: Int

        fileprivate init(_ upload: PartUpload, _ index: Int) {
            self.upload = upload
            self.index = index
        }

        deinit { upload.failed(index) }
    }

    /// The number of consecutive failures after which only new parts or the completed body start another attempt.
    private static let maxFailures = 12

    let key: EntryKey
    let url: String
    /// The state in which the origin is asked, with the lease. The lease is released when the upload ``canBeFollowed``, or fails.
    let fill: FillContext
    /// The list without digests.
    let list: PartList
    private let head: [UInt8]
    private let epoch: Generation.Epoch
    private let body: PartialBody
    /// The parts that were on disk before the transfer, and may also be in the remote store.
    private let former: Set<Int>
    private let state: Locked<State>

    /// - Parameters:
    ///   - url: The key URL.
    ///   - fill: The state in which the origin is asked.
    ///   - head: The record for a list that is written before the body is complete.
    ///   - body: The growing body.
    ///   - former: The parts that are on disk already.
    ///   - known: The parts that another machine has uploaded with the same list.
    init(
        _ list: PartList, key: EntryKey, url: String, fill: FillContext, head: [UInt8], epoch: Generation.Epoch,
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

    /// The parts that are in the store, for a later upload of the same body.
    var found: FoundParts {
        state.withLock { FoundParts(identity: list.identity, digests: $0.progress.known) }
    }

    func offer(_ indexes: some Sequence<Int>) {
        state.withLock { state in
            for index in indexes { state.progress.offer(index) }
        }
    }

    /// The number of parts from the first one on that are in the store; `nil` after a failure.
    var uploadedCount: Int? { state.withLock { $0.failures == 0 ? $0.progress.uploadedCount : nil } }

    func hasOffer(of index: Int) -> Bool { state.withLock { $0.progress.hasOffer(of: index) } }

    /// Records that the body was stored locally.
    func complete(head: [UInt8], epoch: Generation.Epoch) {
        offer(0..<list.count)
        state.withLock { $0.completion = (head, epoch) }
    }

    /// Begins uploads up to the limit.
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

    /// The pause before the next attempt after a failure; `nil` if there is already a pause, or after too many consecutive failures.
    func pauseAfterFailure() -> Duration? {
        state.withLock { state in
            state.failures += 1
            guard !state.isRetrying, state.failures < Self.maxFailures else { return nil }
            state.isRetrying = true
            return .seconds(min(1 << state.failures / 2, 30))
        }
    }

    /// Ends the pause.
    func endPause() { state.withLock { $0.isRetrying = false } }

    private func failed(_ index: Int) { state.withLock { $0.progress.failed(index) } }

    /// The epoch that must be current for the body to be shared.
    var currentEpoch: Generation.Epoch { state.withLock { $0.completion?.epoch ?? epoch } }

    /// Returns true if the list must be written: after the first part, and when all parts are uploaded and the body is complete.
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

    /// Records that a list is in the store.
    func listStored() { state.withLock { $0.isListStored = true } }

    /// True if other machines can see that the body is being uploaded. They then follow its parts and need no lease to wait for.
    var canBeFollowed: Bool { state.withLock { $0.isListStored && $0.hasUploaded } }

    /// Records that the list must be written again with the next part.
    func listFailed() { state.withLock { ($0.hasList, $0.isListed) = (false, false) } }

    /// The object with the current list.
    func listObject() -> [UInt8] {
        let (head, digests) = state.withLock { [began = head] state in
            (state.completion?.head ?? began, state.completion == nil ? nil : state.progress.allDigests)
        }
        let list = PartList(list.identity, total: list.total, partSize: list.partSize, digests: digests)
        return RemoteObject.encode(head: head, parts: list, key: key)
    }

    /// True if a part may be in the store already.
    func mayBeThere(_ index: Int) -> Bool { former.contains(index) }

    /// A part as an object, with the position of its bytes; `nil` if the bytes were altered on disk.
    func object(ofPart index: Int) -> (bytes: [UInt8], content: Range<Int>)? {
        let prefix = PartObject.prefix(of: index, list)
        guard let bytes = try? body.verifiedBytes(list.range(of: index), behind: prefix) else { return nil }
        return (bytes, prefix.count..<bytes.count)
    }
}

/// The parts of a body that this machine knows to be in the remote store.
struct FoundParts: Sendable {
    let identity: PartIdentity
    /// The SHA-256 of each part; `nil` if the part is not known to be in the store.
    var digests: [[UInt8]?]
}
