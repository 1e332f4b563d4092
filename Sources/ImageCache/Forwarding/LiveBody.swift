import HTTPCaching

/// The bytes of a body in order: while it arrives, and then from the complete file.
struct LiveBody: AsyncSequence, Sendable {
    typealias Piece = ForwardedBody.Piece

    let bodyProgress: BodyProgress
    /// Keeps the fetch running.
    let subscription: FetchPool.Subscription
    let url: String
    /// The requested bytes. The default upper bound means the end of the body.
    var range: Range<Int64> = 0..<Int64.max
    /// True to end the sequence only after the fetch, so that a reader of the whole body then finds it in the store. Failures of storing
    /// are ignored.
    var awaitsStoring = false
    /// The version of the body to read, which changes when the body starts again with another representation; `nil`: the first one seen.
    var version: Int?

    func makeAsyncIterator() -> Iterator {
        Iterator(body: self, position: range.lowerBound, snapshots: bodyProgress.subscribe().makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        private let body: LiveBody
        private var position: Int64
        private var version: Int?
        private var snapshots: AsyncStream<BodyProgress.Snapshot>.Iterator
        /// The complete file, retained while it is read.
        private(set) var file: CachedFile?

        init(body: LiveBody, position: Int64, snapshots: AsyncStream<BodyProgress.Snapshot>.Iterator) {
            self.body = body
            self.position = position
            self.snapshots = snapshots
            version = body.version
        }

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> Piece? {
            do throws(ImageCacheError) {
                return try await nextPiece(isolation: actor)
            } catch {
                throw error.with(url: body.url)
            }
        }

        private mutating func nextPiece(
            isolation actor: isolated (any Actor)?
        ) async throws(ImageCacheError) -> Piece? {
            while file == nil, position < body.range.upperBound {
                guard let snapshot = await snapshots.next(isolation: actor) else {
                    let whole = try await body.subscription.value()
                    try check(body.bodyProgress.version)
                    file = whole
                    let end = Swift.min(body.range.upperBound, whole.size)
                    guard position < end else { return nil }
                    defer { position = end }
                    return .stored(descriptor: whole.body.descriptor, range: position..<end)
                }
                try check(snapshot.version)
                if let piece = take(from: snapshot) { return piece }
            }
            guard body.awaitsStoring, file == nil else { return nil }
            do throws(ImageCacheError) {
                file = try await body.subscription.value()
            } catch {
                guard error.code.storeReason != nil else { throw error }
            }
            return nil
        }

        /// The available part of the remaining range.
        private mutating func take(from snapshot: BodyProgress.Snapshot) -> Piece? {
            let onDisk = Swift.min(snapshot.available, body.range.upperBound)
            if position < onDisk {
                defer { position = onDisk }
                return .stored(descriptor: snapshot.descriptor, range: position..<onDisk)
            }
            let inMemory = Swift.min(snapshot.available + Int64(snapshot.tail.count), body.range.upperBound)
            guard position < inMemory else { return nil }
            defer { position = inMemory }
            return .bytes(Array(snapshot.tail[Int(position - snapshot.available)..<Int(inMemory - snapshot.available)]))
        }

        private mutating func check(_ now: Int) throws(ImageCacheError) {
            if version == nil || body.version == nil && position == body.range.lowerBound { version = now }
            guard version == now else {
                throw ImageCacheError(
                    .wrongBytes, url: body.url,
                    message: "the file changed at the origin after \(position) bytes of the old one had been given out")
            }
        }
    }
}
