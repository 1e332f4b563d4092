import ConcurrencyPrimitives
import Digests
import HTTPSemantics
import ImageCache
import ImageCodec
import ImageEffects
import TextIdentity
import Units

/// Runs `imgcache thumb`: renders several sources concurrently, with results in the order given. The first failure determines the exit
/// code.
struct ThumbRun: Sendable {
    let options: ThumbCommand

    private let decoder: ImageDecoder
    /// The size to decode to.
    private let sizing: ImageSizing?
    private let processors: [ImageProcessor]
    private let keepsAnimation: Bool
    private let format: EncodingOptions.Format
    private let encoder: ImageEncoder
    /// Opened for the first URL, because files need no cache.
    private let cache = Locked<DownloadCache?>(nil)
    /// Held while the cache is opened, which may wait for other processes. Its cancellation does not need it.
    private let opening = Locked(())
    private let isolated: IsolatedFiles
    /// The sources that are given more than once, as far as they have been started.
    private let started = Locked<[ByteText: Task<ThumbResult, Never>]>([:])

    /// - Throws: An error for the file of the watermark.
    init(options: ThumbCommand) throws {
        self.options = options
        decoder = options.decoding.decoder
        let isolated = IsolatedFiles(
            options.decoding.isolation, width: options.batch.width(usually: Self.usualWidth))
        self.isolated = isolated
        let operations = try options.changes.operations
        let result = options.sizing.sizing(around: operations.focalPointInZoom)
        sizing = operations.decodedSizing(for: result)
        processors = operations.processors(
            for: result, on: options.sizing.background?.value, devicePixelRatio: options.sizing.dpr,
            watermark: try operations.watermark.map { try Self.watermark($0, isolated) })
        keepsAnimation =
            options.animation.anim && options.decoding.frame == nil && processors.allSatisfy(\.hasOneSize)
        format = options.format.format(for: options.output.file)
        encoder = options.format.encoder(format, background: options.sizing.background?.value)
    }

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let sources: [String]
        do {
            sources = try options.batch.all(options.sources)
            if let directory = options.output.directory {
                try OutputDestination.check(folder: directory)
                try FolderTargets.check(sources, allowingQueries: false) { path(of: $0, in: directory) }
                try OutputDestination.makeFolder(directory)
            }
            if let file = options.output.file, !writesToStandardOutput { try OutputDestination.check(file: file) }
        } catch {
            Output.error("\(error)")
            return ExitStatus(error)
        }
        interruption.onSignal { cache.withLock { $0 }?.cancelAll() }
        let reporter = Reporter<ThumbResult>(options.result, printsLines: !writesToStandardOutput)
        let queue = WorkQueue(sources)
        var counted: Set<ByteText> = []
        let repeated = Set(sources.map(\.asBytes).filter { !counted.insert($0).inserted })
        let status = await reporter.run(queue, width: options.batch.width(usually: Self.usualWidth), interruption) {
            source, _ in
            repeated.contains(source.asBytes) ? await makeOnce(source) : await make(source)
        }
        if let cache = cache.withLock({ $0 }) { await cache.close() }
        return status
    }

    /// The number of concurrent sources. It is small, because their originals are large in memory.
    private static let usualWidth = 8

    private var writesToStandardOutput: Bool { Output.isStandardOutput(options.output.file) }

    /// The path of a source's thumbnail in a folder.
    private func path(of source: String, in directory: String) -> String {
        let name =
            source.isWebURL ? OutputName.suggested(contentDisposition: nil, url: source) : OutputName.of(file: source)
        let stem = name.lastIndex(of: ".").map { name[..<$0] }.flatMap { $0.isEmpty ? nil : String($0) } ?? name
        return "\(directory.hasSuffix("/") ? String(directory.dropLast()) : directory)/\(stem).\(format.ending)"
    }

    private static func watermark(_ path: String, _ isolated: IsolatedFiles) throws(Failure) -> ImageWatermark {
        do throws(ImageCodecError) {
            let (file, decoder) = (try ImageSource(path: path), ImageWatermark.decoder)
            guard isolated.isUsed(for: file) else { return ImageWatermark(try decoder.decode(file)) }
            return ImageWatermark(try isolated.image(of: file, nil, decoder))
        } catch {
            throw Failure(error, of: path)
        }
    }

    // MARK: One source

    /// The result of a source, which is the same whenever the source occurs.
    private func makeOnce(_ source: String) async -> ThumbResult {
        let task = started.withLock { started in
            if let task = started[source.asBytes] { return task }
            let task = Task { await make(source) }
            started[source.asBytes] = task
            return task
        }
        return await task.value
    }

    private func make(_ source: String) async -> ThumbResult {
        var result = ThumbResult(source: FileRequest(source).urlWithoutUserinfo)
        await result.timed { result in
            do {
                if source.isWebURL {
                    let thumbnail = try await openedCache().thumbnail(for: request(source), as: encoder)
                    result.fill(thumbnail)
                    try check(thumbnail.damage, source)
                    result.output = try deliver(thumbnail.bytes, source)
                } else {
                    let thumbnail = try thumbnail(of: file(source))
                    result.fill(thumbnail, format)
                    try check(thumbnail.damage, source)
                    result.output = try deliver(thumbnail.bytes, source)
                }
            } catch let error as ImageCodecError {
                result.fail(Failure(error, of: source))
            } catch {
                result.fail(error)
            }
        }
        return result
    }

    private func thumbnail(of file: ImageSource) throws(ImageCodecError) -> EncodedImage {
        guard isolated.isUsed(for: file) else {
            return try encoder.thumbnail(
                of: file, sizing, decoder, keepsAnimation: keepsAnimation, processors.process)
        }
        return try isolated.thumbnail(
            of: file, sizing, decoder, processors, as: encoder, keepsAnimation: keepsAnimation)
    }

    private func check(_ damage: ImageCodecError?, _ source: String) throws {
        try options.decoding.check(damage, of: source, quiet: options.fetching.messages.quiet)
    }

    /// A local file, verified by its SHA-256 if given.
    private func file(_ path: String) throws -> ImageSource {
        guard let expected = options.fetching.request.sha256?.lowercased() else { return try ImageSource(path: path) }
        // The verified bytes are decoded, even if the file changes in the meantime.
        let bytes = try InputList.bytes(of: path, limit: 2 << 30)
        let actual = try RunningDigest.digest(.sha256, of: bytes).hexadecimal
        guard actual == expected else {
            throw Failure(.wrongBytes, "\(path): its SHA-256 is \(actual), not \(expected)")
        }
        return ImageSource(bytes)
    }

    private func request(_ url: String) throws -> ImageRequest {
        // An original that cannot be stored may be used, because the thumbnail is delivered immediately.
        var file = try options.fetching.template(mayBeUnstorable: true)
        file.url = url
        var request = ImageRequest(file, sizing)
        request.processors = processors
        request.decoder = decoder
        request.keepsAnimation = keepsAnimation
        return request
    }

    private func openedCache() throws -> DownloadCache {
        try opening.withLock { _ in
            if let cache = cache.withLock({ $0 }) { return cache }
            let opened = try options.fetching.openCache(
                parallel: options.batch.parallel, isolation: options.decoding.isolation)
            cache.withLock { $0 = opened }
            return opened
        }
    }

    private func deliver(_ bytes: [UInt8], _ source: String) throws -> String? {
        // It is lossless, or has the lowest quality.
        if let limit = options.format.maxBytes, bytes.count > limit.bytes, !options.fetching.messages.quiet {
            Output.warning(
                "\(FileRequest(source).urlWithoutUserinfo): \(bytes.count) bytes are more than --max-bytes; choose a smaller --size"
            )
        }
        if let file = options.output.file {
            guard !writesToStandardOutput else {
                Output.result(bytes)
                return nil
            }
            try AtomicFile.write(bytes, to: file, overwrite: true)
            return file
        }
        guard let directory = options.output.directory else { return nil }
        let path = path(of: source, in: directory)
        try AtomicFile.write(bytes, to: path, overwrite: options.output.force)
        return path
    }
}

extension String {
    /// True for a web URL, as opposed to a file name.
    var isWebURL: Bool { URLText.hasWebScheme(self) }
}
