import Glibc
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
    /// Previews are decoded from what is on disk, 256 KiB at a time: a smaller file comes at once. With
    /// ``Configuration/decoderIsolation`` there are none but the final image.
    ///
    /// - Parameters:
    ///   - request: The original, and the size and effects to apply.
    ///   - interval: The shortest time between two previews. Each costs about as much as a decode.
    public func previews(
        for request: ImageRequest, every interval: Duration = .milliseconds(200)
    ) -> AsyncThrowingStream<ImagePreview, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task(executorPreference: pipeline.blocking) { [self] in
                do throws(ImageCacheError) {
                    let download = download(request.file)
                    var previews = GrowingPreview(request, every: interval)
                    let isolation = pipeline.renderer.isolation
                    for await snapshot in download.growth.follow() {
                        // Each is one more decode of a stranger's file.
                        if isolation?.isInUse != true, let image = previews.next(snapshot) {
                            continuation.yield(ImagePreview(image: image, isFinal: false))
                        }
                        if Task.isCancelled { break }
                    }
                    _ = try await download.file
                    continuation.yield(ImagePreview(image: try await image(for: request).image, isFinal: true))
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
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
    private var preview: ProgressiveJPEGPreview
    private var version: Int?
    private var read: Int64 = 0
    private var hasBetter = false
    private var last: ContinuousClock.Instant?

    init(_ request: ImageRequest, every interval: Duration) {
        self.request = request
        self.interval = interval
        preview = ProgressiveJPEGPreview(sizing: request.sizing, decoder: request.decoder)
    }

    /// A sharper image, if it is time for one. An undecodable file has none; the error comes with the final image.
    mutating func next(_ snapshot: BodyGrowth.Snapshot) -> DecodedImage? {
        if let version, version != snapshot.version {
            preview = ProgressiveJPEGPreview(sizing: request.sizing, decoder: request.decoder)
            read = 0
        }
        version = snapshot.version
        while read < snapshot.available {
            let wanted = Int(min(snapshot.available - read, 256 << 10))
            let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
                count = max(0, pread(snapshot.descriptor, buffer.baseAddress, wanted, off_t(read)))
            }
            guard !bytes.isEmpty else { return nil }
            read += Int64(bytes.count)
            if (try? preview.append(bytes)) == true { hasBetter = true }
        }
        let now = ContinuousClock.now
        guard hasBetter, last.map({ now - $0 >= interval }) ?? true, var image = try? preview.image() else {
            return nil
        }
        hasBetter = false
        last = now
        let budget = ImageBudget(limits: request.decoder.limits)
        for processor in request.processors {
            guard let processed = try? processor.process(image, within: budget) else { return nil }
            image = processed
        }
        return image
    }
}
