import ArgumentParser
import ImageCache

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download URLs through the cache, resuming what an earlier run left behind.",
        discussion: """
            Prints the path of the cached file, one line a URL, in the order given, empty for one that failed: \
            "$(imgcache fetch URL)" is a file name. Each path that is printed is there when the command ends. \
            Running the same command again after a cut, a Ctrl-C or a kill continues where it stopped, as long as the \
            server's validator (a strong ETag, or Last-Modified) still holds; if the file has changed, it starts over. With -o and -d, \
            what the store has no room for is downloaded beside the target, and not cached.

            Exit codes: 0 all done; 2 usage; 3 cannot reach (DNS, connect, TLS, time-out, cut and retries used up); \
            4 the server answered with an error status, or redirects without end or to where nothing is fetched; 5 the \
            bytes are wrong (checksum, length, splice refused); 6 the store cannot (full, too large for the capacity or \
            --max-filesize, not writable, damaged, not a cache, must not be stored), or the file cannot be put where it \
            should go; 7 offline and not in the cache; 130 interrupted; 141 the reader of standard output is gone. With \
            several URLs all are tried and the first that failed decides.
            """
    )

    @Argument(help: ArgumentHelp("What to download (http or https).", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Output")
    var output: OutputOptions

    @OptionGroup(title: "Several")
    var several: SeveralOptions

    @OptionGroup(title: "Output")
    var result: ResultOptions

    @OptionGroup(title: "Data sets")
    var dataSet: DataSetOptions

    @OptionGroup
    var fetching: FetchingOptions

    func validate() throws {
        guard output.directory == nil || output.file == nil, !output.remoteName || output.file == nil else {
            throw ValidationError("-o does not go with -d or -O.")
        }
        guard !urls.isEmpty || several.inputFile != nil else {
            throw ValidationError("Name a URL, or a list of them with -i.")
        }
        guard output.directory?.isEmpty != true else { throw ValidationError("-d takes a folder.") }
        try dataSet.validate(urls, several, output)
        try fetching.validate(urls, several, output: output.file, takes: "URL")
    }

    func run() async throws {
        let status = await FetchRun(options: self).run()
        // Ending here, without unwinding: every result is written, and nothing of the process is needed any more.
        Output.exit(status)
    }
}

struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("Put the file here, whole or not at all; '-' is standard output.", valueName: "file"))
    var file: String?

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: ArgumentHelp("Put the files into this folder, named by Content-Disposition or URL.", valueName: "dir"))
    var directory: String?

    @Flag(name: [.customShort("O"), .customLong("remote-name")], help: "The same, into the current folder.")
    var remoteName = false

    @Flag(name: .customLong("force"), help: "Overwrite existing files under -d and -O, but none of the same run.")
    var force = false
}
