import Glibc
import ImageCache
import Locking

/// Runs `imgcache thumb`: several sources at a time, results in the order given, the first failure decides.
struct ThumbRun: Sendable {
    let options: ThumbCommand

    private let decoder: ImageDecoder
    private let sizing: ImageSizing
    private let format: EncodingOptions.Format
    private let encoder: ImageEncoder
    /// Opened with the first URL: files need no cache.
    private let cache = Locked<ImageCache?>(nil)

    init(options: ThumbCommand) {
        self.options = options
        decoder = options.decoding.decoder
        sizing = options.sizing.sizing
        format = options.format.format(for: options.output.file)
        encoder = options.format.encoder(format, background: options.sizing.background?.value)
    }

    func run() async -> ExitStatus {
        let interruption = Interruption()
        let sources: [String]
        do {
            sources = try options.fetching.all(options.sources)
            if let directory = options.output.directory { try Delivery.makeFolder(directory) }
        } catch {
            Output.error("\(error)".forTerminal)
            return ExitStatus(error)
        }
        interruption.onSignal { cache.withLock { $0 }?.cancelAll() }
        let reporter = Reporter<ThumbResult>(messages: options.fetching.messages)
        let status = await reporter.run(sources, width: options.fetching.request.parallel, interruption) { source, _ in
            await make(source)
        }
        if let cache = cache.withLock({ $0 }) { await cache.close() }
        return status
    }

    // MARK: One source

    private func make(_ source: String) async -> ThumbResult {
        var result = ThumbResult(source: FileRequest(source).urlWithoutUserinfo)
        await result.timed { result in
            do {
                if source.isWebURL {
                    let thumbnail = try await openedCache().thumbnail(for: request(source), as: encoder)
                    result.fill(thumbnail)
                    result.output = try deliver(thumbnail.bytes, source)
                } else {
                    let image = try decoder.decode(ImageSource(path: source), to: sizing)
                    let bytes = try encoder.encode(image)
                    result.fill(image, bytes: bytes.count, format)
                    result.output = try deliver(bytes, source)
                }
            } catch let error as ImageCodecError {
                let message = error.code == .unreadable ? "\(error)" : "\(source): \(error)"
                result.fail(Failure(ExitStatus(error.code), message))
            } catch {
                result.fail(error)
            }
        }
        return result
    }

    private func request(_ url: String) throws -> ImageRequest {
        // What must not be stored may be made all the same: the thumbnail leaves the cache at once.
        var file = try options.fetching.template(mayBeUnstorable: true)
        file.url = url
        var request = ImageRequest(file, sizing)
        request.decoder = decoder
        return request
    }

    private func openedCache() throws -> ImageCache {
        try cache.withLock { cache in
            if let cache { return cache }
            let opened = try options.fetching.openCache()
            cache = opened
            return opened
        }
    }

    private func deliver(_ bytes: [UInt8], _ source: String) throws -> String? {
        if let file = options.output.file {
            guard file != "-" else {
                Output.write(bytes, to: STDOUT_FILENO)
                return nil
            }
            try WholeFile.write(bytes, to: file, overwrite: true)
            return file
        }
        guard let directory = options.output.directory else { return nil }
        let name = OutputName.suggested(contentDisposition: nil, url: source.isWebURL ? source : "file:///" + source)
        let stem = name.lastIndex(of: ".").map { name[..<$0] }.flatMap { $0.isEmpty ? nil : String($0) } ?? name
        let path = "\(directory.hasSuffix("/") ? String(directory.dropLast()) : directory)/\(stem).\(format.ending)"
        try WholeFile.write(bytes, to: path, overwrite: options.output.force)
        return path
    }
}

extension String {
    /// Whether it is a URL of the web, and not a file's name.
    var isWebURL: Bool {
        let scheme = prefix { $0 != ":" }
        return dropFirst(scheme.count).hasPrefix("://") && ["http", "https"].contains(scheme.lowercased())
    }
}
