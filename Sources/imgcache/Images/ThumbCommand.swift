import ArgumentParser
import ImageCache
import ImageEffects

struct ThumbCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumb",
        abstract: "Make thumbnails of URLs, through the cache, and of local image files.",
        discussion: """
            Reads and writes JPEG, PNG, WebP, GIF and AVIF, and reads HEIC, JPEG XL, TIFF, BMP and ICO. An original's format comes from its bytes, never \
            from a name. A URL's original and its thumbnail stay in the cache: the second call fetches and decodes nothing.

            Changes are made in the order below, those up to --zoom before the size. Before --trim, --zoom or a --crop in percent, the original \
            is reduced to at most 4096 pixels a side. --linear does not apply after --crop, --trim or --zoom.

            Exit codes as of fetch; 5 also for what is no image, is damaged, or exceeds the limits.
            """
    )

    @Argument(help: ArgumentHelp("URLs (http or https) and image files.", valueName: "source"))
    var sources: [String] = []

    @OptionGroup(title: "Output")
    var output: ThumbOutputOptions

    @OptionGroup(title: "Size and shape")
    var sizing: SizingOptions

    @OptionGroup(title: "Changes")
    var changes: ChangeOptions

    @OptionGroup(title: "Format")
    var format: EncodingOptions

    @OptionGroup(title: "Format")
    var animation: AnimationOptions

    @OptionGroup(title: "Decoding")
    var decoding: DecodingOptions

    @OptionGroup(title: "Several")
    var batch: BatchOptions

    @OptionGroup(title: "Output")
    var result: ResultOptions

    @OptionGroup
    var fetching: FetchingOptions

    func validate() throws {
        guard !sources.isEmpty || batch.inputFile != nil else {
            throw ValidationError("Specify a URL or a file, or a list with -i.")
        }
        guard (output.file == nil) != (output.directory == nil) else {
            throw ValidationError("Specify the output with -o FILE or -d DIR.")
        }
        guard output.directory?.isEmpty != true else { throw ValidationError("-d expects a directory.") }
        guard !result.json || !Output.isStandardOutput(output.file) else {
            throw ValidationError("--json cannot be combined with -o -: both write to standard output.")
        }
        let operations = try changes.operations
        guard operations.focalPoint == nil || sizing.fit == .cover || operations.zoom > 1 else {
            throw ValidationError("--fp requires --fit cover or --zoom.")
        }
        try fetching.validate(sources, batch, output: output.file, takes: "source")
    }

    func run() async throws { Output.exit(try await ThumbRun(options: self).run()) }
}

struct ThumbOutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Write the thumbnail here, atomically; '-' is standard output.", valueName: "file"))
    var file: String?

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: ArgumentHelp(
            "Write the thumbnails into this directory, named by their sources with the format's extension.",
            valueName: "dir")
    )
    var directory: String?

    @Flag(name: .customLong("force"), help: "Overwrite existing files under -d.")
    var force = false
}
