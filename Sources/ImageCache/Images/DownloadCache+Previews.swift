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
            let task = Task(executorPreference: pipeline.blocking) { [self] in
                do throws(ImageCacheError) {
                    let download = download(request.file)
                    var previews = GrowingPreview(request, every: interval, pipeline.renderer)
                    for await snapshot in download.growth.follow() {
                        if let image = previews.next(snapshot) {
                            continuation.yield(ImagePreview(image: image, isFinal: false))
                        }
                        if Task.isCancelled { break }
                    }
                    _ = try await download.file
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

/// Decodes previews from a growing file.
private struct GrowingPreview {
    private let request: ImageRequest
    private let interval: Duration
    private let renderer: ImageRenderer
    private var preview: (any PreviewReading)?
    private var version: Int?
    private var available: Int64 = 0
    private var last: ContinuousClock.Instant?
    /// True once the file is known to have none.
    private var isOver = false

    init(_ request: ImageRequest, every interval: Duration, _ renderer: ImageRenderer) {
        self.request = request
        self.interval = interval
        self.renderer = renderer
    }

    /// A sharper image, if it is time for one. An undecodable file has none; the error comes with the final image.
    mutating func next(_ snapshot: BodyGrowth.Snapshot) -> DecodedImage? {
        if version != snapshot.version { (preview, available, isOver) = (nil, 0, false) }
        version = snapshot.version
        let now = ContinuousClock.now
        guard !isOver, snapshot.available > available, last.map({ now - $0 >= interval }) ?? true else { return nil }
        available = snapshot.available
        do throws(ImageCodecError) {
            if preview == nil { preview = try renderer.preview(of: request) }
            let image = try preview?.image(of: snapshot.descriptor, byteCount: Int(available))
            if image != nil { last = now }
            return image
        } catch {
            isOver = true
            return nil
        }
    }
}
