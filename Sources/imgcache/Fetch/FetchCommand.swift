import ArgumentParser
import ImageCache

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download URLs through the cache, resuming interrupted downloads.",
        discussion: """
            Prints the path of the cached file, one line for each URL in the order of the arguments, empty for a failed one: \
            "$(imgcache fetch URL)" is a file name. Each printed path exists when the command ends. \
            Running the same command again after an interruption resumes the download, as long as the \
            server's validator (a strong ETag, or Last-Modified) still matches; if the file has changed, it starts over. With -o and -d, \
            files that do not fit into the store are downloaded beside the target, and not cached.

            Exit codes: 0 all done; 2 usage; 3 unreachable (DNS, connect, TLS, time-out, interrupted after all retries); \
            4 the server responded with an error status, too many redirects or one that is not allowed; 5 the \
            bytes are wrong (checksum, length, inconsistent range); 6 the store failed (full, too large for the capacity or \
            --max-filesize, not writable, damaged, not a cache, not storable), or the output cannot be \
            written; 7 offline and not in the cache; 130 interrupted; 141 the reader of standard output is gone. With \
            several URLs all are tried, and the first failure determines the exit code.
            """
    )

    @Argument(help: ArgumentHelp("The URLs to download (http or https).", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Output")
    var output: OutputOptions

    @Flag(
        help: """
            Take [1-100], [001-100], [0-100:10], [a-f] and {one,two} in the URLs for as many URLs, at most 100000.
            """)
    var expand = false

    @OptionGroup(title: "Several")
    var batch: BatchOptions

    @OptionGroup(title: "Output")
    var result: ResultOptions

    @OptionGroup(title: "Output")
    var progress: ProgressOptions

    @OptionGroup(title: "Data sets")
    var dataSet: DataSetOptions

    @OptionGroup(title: "Data sets")
    var delta: ZsyncOptions

    @OptionGroup
    var fetching: FetchingOptions

    mutating func validate() throws {
        guard !progress.jsonProgress || result.json else {
            throw ValidationError("--json-progress needs --json.")
        }
        guard !result.json || !Output.isStandardOutput(output.file) else {
            throw ValidationError("--json cannot be combined with -o -: both write to standard output.")
        }
        if expand {
            urls = try urls.flatMap { pattern in
                guard let urls = URLPattern.urls(pattern) else {
                    throw ValidationError("\(pattern): is more than \(URLPattern.most) URLs.")
                }
                return urls
            }
        }
        guard output.directory == nil || output.file == nil, !output.remoteName || output.file == nil else {
            throw ValidationError("-o cannot be combined with -d or -O.")
        }
        guard !urls.isEmpty || batch.inputFile != nil else {
            throw ValidationError("Specify a URL, or a list of URLs with -i.")
        }
        guard output.directory?.isEmpty != true else { throw ValidationError("-d expects a directory.") }
        try dataSet.validate(urls, batch, output)
        try delta.validate(urls, batch)
        try fetching.validate(urls, batch, output: output.file, takes: "URL")
    }

    func run() async throws {
        let status = await FetchRun(options: self).run()
        // Exits without unwinding: all results are written, and nothing else is needed.
        Output.exit(status)
    }
}

struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the file here, atomically, in place of an existing one; '-' is standard output.", valueName: "file"))
    var file: String?

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: ArgumentHelp(
            "Write the files into this directory, named by Content-Disposition or URL.", valueName: "dir"))
    var directory: String?

    @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "Equals -d with the current directory.")
    var remoteName = false

    @Flag(
        name: .customLong("force"),
        help: """
            Overwrite existing files under -d, -O and --tree, except for those of the same run. Files that are as the store delivered \
            them are updated in any case.
            """)
    var force = false

    @Flag(
        name: [.customShort("R"), .customLong("remote-time")], inversion: .prefixedNo,
        help: """
            Give new files the time of the server's Last-Modified (default: under -d, -O and --tree, not with -o). Hard and symbolic links have \
            the time of the stored file.
            """)
    var remoteTime: Bool?
}
