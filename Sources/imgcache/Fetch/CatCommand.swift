import ArgumentParser
import FoundationEssentials
import Glibc
import ImageCache

struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Write a file, or ranges of it, to standard output.",
        discussion: """
            A range costs the blocks of 256 KiB that it touches, once: they are stored, and a later download of the file goes on with \
            them. All ranges are of one version of the file.
            """
    )

    @Argument(help: ArgumentHelp("A URL (http or https).", valueName: "url"))
    var url: String

    @Option(
        name: [.customShort("r"), .customLong("range")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Bytes from A to B, counted from 0: A-B, A- up to the end, or -N for the last N; may be repeated (default: the whole file).",
            valueName: "range"))
    var ranges: [ByteRangeArgument] = []

    @OptionGroup
    var fetching: FetchingOptions

    func validate() throws {
        guard ranges.isEmpty || fetching.request.sha256 == nil else {
            throw ValidationError("--sha256 is of the whole file, and cannot be used with --range.")
        }
    }

    func run() async throws {
        let interruption = Interruption()
        do {
            var request = try fetching.template(mayBeUnstorable: true)
            request.url = url
            let cache = try fetching.openCache()
            let task = Task { [ranges] in try await Self.write(ranges, of: request, from: cache) }
            interruption.onSignal { task.cancel() }
            let result = await task.result
            await cache.close()
            try result.get()
            Output.exit(.done)
        } catch {
            let failure = (error as? ImageCacheError)?.outputError.map(Output.unwritable)
            let status = interruption.isSignalled ? .interrupted : failure?.status ?? ExitStatus(error)
            if status != .brokenPipe { Output.error(failure?.message ?? "\(error)") }
            Output.exit(status)
        }
    }

    private static func write(
        _ ranges: [ByteRangeArgument], of request: FileRequest, from cache: DownloadCache
    ) async throws {
        BlockingSection.enter()
        defer { BlockingSection.leave() }
        guard !ranges.isEmpty else {
            _ = try await cache.download(request).copy(toDescriptor: STDOUT_FILENO)
            return
        }
        let file = cache.remoteFile(for: request)
        for range in ranges {
            var position = range.first
            while true {
                let part = range.part(at: position)
                let response = try await file.response(to: part.text)
                if response.head.status == .rangeNotSatisfiable, position != range.first { break }
                guard let bytes = response.range else {
                    throw ImageCacheError(
                        .status(response.head.status.code), url: request.urlWithoutUserinfo,
                        message: "the file has no bytes in the range \(range.text)")
                }
                try await response.copyContent(toDescriptor: STDOUT_FILENO)
                // A shorter response ends with the file.
                guard let end = part.end, bytes.upperBound == end, end != range.end else { break }
                position = end
            }
        }
    }
}

/// A range of bytes on the command line.
struct ByteRangeArgument: ExpressibleByArgument, Sendable {
    /// The bytes that are requested and written at a time.
    private static let partSize: Int64 = 8 << 20

    /// As it follows `bytes=` in a `Range` field.
    let text: String
    /// `nil` for the last bytes of a file.
    let first: Int64?
    /// The offset after the last byte; `nil` up to the end of the file.
    let end: Int64?

    init?(argument: String) {
        let ends = argument.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else { return nil }
        let numbers = ends.map { Int64($0) }
        switch (ends[0].isEmpty, ends[1].isEmpty) {
        case (true, false):
            guard let count = numbers[1], count > 0 else { return nil }
            self.init(first: nil, end: nil, text: argument)
        case (false, true):
            guard let first = numbers[0] else { return nil }
            self.init(first: first, end: nil, text: argument)
        case (false, false):
            guard let first = numbers[0], let last = numbers[1], first <= last, last < .max else { return nil }
            self.init(first: first, end: last + 1, text: argument)
        case (true, true): return nil
        }
    }

    private init(first: Int64?, end: Int64?, text: String) {
        self.first = first
        self.end = end
        self.text = text
    }

    /// The next part of the range at an offset of it; all of it for the last bytes of a file.
    func part(at position: Int64?) -> ByteRangeArgument {
        guard let position else { return self }
        // Parts end where windows of blocks do.
        let (limit, overflow) = (position / Self.partSize * Self.partSize).addingReportingOverflow(Self.partSize)
        let end = min(end ?? .max, overflow ? .max : limit)
        return ByteRangeArgument(first: position, end: end, text: "\(position)-\(end - 1)")
    }
}
