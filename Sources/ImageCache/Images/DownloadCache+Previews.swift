import ConcurrencyPrimitives
public import ImageCodec

/// An image of the part of a file that has arrived.
public struct ImagePreview: Sendable {
    public let image: DecodedImage
    /// True for the complete image, the last one of a stream.
    public let isFinal: Bool
}

extension DownloadCache {
    /// A stream of progressively sharper previews while a progressive JPEG arrives, ending with the final image; for any other file
    /// only that.
    ///
    /// A slow reader gets only the newest. Ending the iteration early stops the download, unless somebody else waits for it.
    /// Previews are decoded from what is on disk, 256 KiB at a time: a smaller file comes at once.
    ///
    /// - Parameters:
    ///   - request: The original, and the size and effects to apply.
    ///   - interval: The shortest time between two previews. Each costs about as much as a decode.
    public func previews(
        for request: ImageRequest, every interval: Duration = .milliseconds(200)
    ) -> AsyncThrowingStream<ImagePreview, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard !Task.isCancelled else {
                continuation.finish(throwing: ImageCacheError.cancelled.with(url: request.file.url))
                return
            }
            let task = Task { [self] in
                do throws(ImageCacheError) {
                    let download = download(request.file)
                    let previews = GrowingPreview(request, every: interval, pipeline.renderer)
                    for await snapshot in download.growth.follow() {
                        if let image = await previews.next(snapshot) {
                            continuation.yield(ImagePreview(image: image, isFinal: false))
                        }
                        if Task.isCancelled { break }
                    }
                    do throws(ImageCacheError) {
                        _ = try await download.file
                    } catch {
                        // The image is made all the same where the store cannot take its original.
                        if !error.isOfStore { throw error }
                    }
                    continuation.yield(ImagePreview(image: try await image(for: request).image, isFinal: true))
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error.with(url: request.file.url))
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// Decodes previews from a growing file, one at a time, each in a turn among the cache's decodes.
private final class GrowingPreview: Sendable {
    private struct State {
        var preview: (any PreviewReading)?
        var version: Int?
        var available: Int64 = 0
        var last: ContinuousClock.Instant?
        /// True once the file is known to have none.
        var isOver = false
    }

    private let request: ImageRequest
    private let interval: Duration
    private let renderer: ImageRenderer
    private let state = Locked(State())

    init(_ request: ImageRequest, every interval: Duration, _ renderer: ImageRenderer) {
        self.request = request
        self.interval = interval
        self.renderer = renderer
    }

    /// A sharper image, if it is time for one. An undecodable file has none; the error comes with the final image.
    func next(_ snapshot: BodyGrowth.Snapshot) async -> DecodedImage? {
        guard isDue(snapshot) else { return nil }
        let pixels = Int(snapshot.available)
        let turn = DecodingSlots.Turn(
            priority: request.file.priority, owner: nil, cost: pixels, client: request.file.client)
        // An estimate: a JPEG's coefficients take some ten times its bytes.
        let memory = min(pixels * 10, request.decoder.limits.memory)
        let image = try? await renderer.slots.run(turn, memory: { memory }, on: renderer.executor) { [self] in
            decode(snapshot)
        }
        return image ?? nil
    }

    private func isDue(_ snapshot: BodyGrowth.Snapshot) -> Bool {
        state.withLock { state in
            if state.version != snapshot.version { (state.preview, state.available, state.isOver) = (nil, 0, false) }
            state.version = snapshot.version
            let now = ContinuousClock.now
            guard !state.isOver, snapshot.available > state.available,
                state.last.map({ now - $0 >= interval }) ?? true
            else { return false }
            state.available = snapshot.available
            return true
        }
    }

    /// Blocks the thread.
    private func decode(_ snapshot: BodyGrowth.Snapshot) -> DecodedImage? {
        state.withLock { state in
            do throws(ImageCodecError) {
                if state.preview == nil { state.preview = try renderer.preview(of: request) }
                let image = try state.preview?.image(
                    of: snapshot.descriptor, byteCount: Int(snapshot.available))
                if image != nil { state.last = .now }
                return image
            } catch {
                state.isOver = true
                return nil
            }
        }
    }
}
