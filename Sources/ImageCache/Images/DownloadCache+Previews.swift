import Glibc
public import ImageCodec

/// One of the images that are to be had while a file arrives.
public struct ImagePreview: Sendable {
    public let image: DecodedImage
    /// Whether all of the file is in it. The last one of a stream.
    public let isFinal: Bool
}

extension DownloadCache {
    /// Ever better images while a progressive JPEG arrives, and at last the image; of any other file only that.
    ///
    /// A slow reader gets only the newest. Ending the iteration early stops the download, unless somebody else waits for it.
    /// Previews are made of what stands on disk, 256 KiB at a time: a smaller file comes at once.
    ///
    /// - Parameters:
    ///   - request: what to get and what to make of it.
    ///   - interval: At most one preview in so long: each costs about as much as a decode.
    public func previews(
        for request: ImageRequest, every interval: Duration = .milliseconds(200)
    ) -> AsyncThrowingStream<ImagePreview, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task(executorPreference: pipeline.blocking) { [self] in
                do throws(ImageCacheError) {
                    let download = download(request.file)
                    var previews = GrowingPreview(request, every: interval)
                    for await stand in download.growth.follow() {
                        if let image = previews.next(stand) {
                            continuation.yield(ImagePreview(image: image, isFinal: false))
                        }
                        if Task.isCancelled { break }
                    }
                    _ = try await download.file()
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

/// Reads a growing file and makes previews of it.
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

    /// A better image, if it is time for one. What cannot be decoded gives none: the image itself will tell why.
    mutating func next(_ stand: BodyGrowth.Stand) -> DecodedImage? {
        if let version, version != stand.version {
            preview = ProgressiveJPEGPreview(sizing: request.sizing, decoder: request.decoder)
            read = 0
        }
        version = stand.version
        while read < stand.available {
            let wanted = Int(min(stand.available - read, 256 << 10))
            let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
                count = max(0, pread(stand.descriptor, buffer.baseAddress, wanted, off_t(read)))
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
