import ConcurrencyPrimitives
public import ImageCodec

/// An image of the received part of a file.
public struct ImagePreview: Sendable {
    public let image: DecodedImage
    /// True for the last element of a stream, the complete image.
    public let isFinal: Bool
}

extension DownloadCache {
    /// A stream of increasingly sharp previews while a progressive JPEG arrives, followed by the final image. For other files the stream
    /// has only the final image.
    ///
    /// A slow reader gets only the latest preview. Ending the iteration early stops the download, unless another caller waits for it.
    /// Previews are decoded from disk in steps of 256 KiB, so a smaller file has none.
    ///
    /// - Parameters:
    ///   - request: The original, the size and the effects.
    ///   - interval: The minimum time between two previews. Each one costs about as much as a decode.
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
                    for await snapshot in download.bodyProgress.subscribe() {
                        if let image = await previews.next(snapshot) {
                            continuation.yield(ImagePreview(image: image, isFinal: false))
                        }
                        if Task.isCancelled { break }
                    }
                    do throws(ImageCacheError) {
                        _ = try await download.file
                    } catch {
                        // The image can be rendered even if the original cannot be stored.
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

/// Decodes previews of a growing file, one at a time, in turn with other decodes.
private final class GrowingPreview: Sendable {
    private struct State {
        var preview: (any PreviewReading)?
        var version: Int?
        var available: Int64 = 0
        var last: ContinuousClock.Instant?
        /// True if there will be no further previews.
        var isOver = false
    }

    private let request: ImageRequest
    private let interval: Duration
    private let renderer: ImageRenderer
    private let state = Locked(State())
    private let cancellation = ImageCancellation()

    init(_ request: ImageRequest, every interval: Duration, _ renderer: ImageRenderer) {
        self.request = request
        self.interval = interval
        self.renderer = renderer
    }

    /// A sharper image, if one is due. A file that cannot be decoded has none; the error is reported with the final image.
    func next(_ snapshot: BodyProgress.Snapshot) async -> DecodedImage? {
        guard isDue(snapshot) else { return nil }
        let pixels = Int(snapshot.available)
        let ticket = DecodingSlots.Ticket(
            priority: request.file.priority, owner: nil, cost: pixels, client: request.file.client)
        // An estimate: the coefficients of a JPEG take about ten times its size.
        let memory = min(pixels * 10, request.decoder.limits.memory)
        return await withTaskCancellationHandler {
            let image = try? await renderer.slots.run(ticket, memory: { memory }, on: renderer.executor) { [self] in
                decode(snapshot)
            }
            return image ?? nil
        } onCancel: {
            cancellation.cancel()
        }
    }

    private func isDue(_ snapshot: BodyProgress.Snapshot) -> Bool {
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
    private func decode(_ snapshot: BodyProgress.Snapshot) -> DecodedImage? {
        state.withLock { state in
            do throws(ImageCodecError) {
                if state.preview == nil { state.preview = try renderer.preview(of: request, cancellation) }
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
