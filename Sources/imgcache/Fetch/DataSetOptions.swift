import ArgumentParser
import ImageCache

/// The options of `fetch` for sets of files: lists, mirrors, checksums and output.
struct DataSetOptions: ParsableArguments {
    @Option(
        name: .customLong("base-url"),
        help: ArgumentHelp(
            "The list given with -i is one of checksums, as sha256sum writes it; its names are below this URL.",
            valueName: "url"))
    var baseURL: String?

    @Option(
        name: .customLong("mirror"),
        help: ArgumentHelp(
            """
            Another URL of the same file, asked when the ones before it fail, and with --sha256 also for parts of a large file; \
            may be repeated.
            """, valueName: "url"))
    var mirrors: [String] = []

    @Flag(help: "Refuse a file of which neither the list nor the response has a SHA-2 digest (exit code 5).")
    var requireDigest = false

    @Option(
        help: ArgumentHelp("Put the files into this folder, each under its URL's host and path.", valueName: "dir"))
    var tree: String?

    @Option(
        help: ArgumentHelp(
            "How files get into folders and -o: clone (shared blocks where the file system can, else a copy), hardlink (the store's own "
                + "file, read-only, under a further name; else a clone), symlink to the store's file, which eviction may take after the run, "
                + "or copy (default $IMGCACHE_LINK_MODE, else clone).",
            valueName: "mode"))
    var linkMode: LinkMode?

    @Flag(
        help: """
            Store files of one SHA-256 once: one that is stored under another URL answers, by the digest of the list, of --sha256, or of \
            the response (Repr-Digest).
            """)
    var dedupe = false

    @Flag(
        help: """
            Continue files that another program has left incomplete at -o, or under -d, -O or --tree, and replace them. Each needs a SHA-2 of \
            the whole (--sha256 or a list). If it is wrong in the end, the file is downloaded once more, from its start.
            """)
    var adopt = false

    @Flag(
        inversion: .prefixedNo,
        help: """
            Go on with the other files when one has failed; at the end, try once more what could not be reached or was answered with a \
            status that may pass, such as 503.
            """)
    var keepGoing = true

    @Option(
        help: ArgumentHelp("Write the files that failed, or were not begun, here, as a list for -i.", valueName: "file")
    )
    var failed: String?

    @Option(help: ArgumentHelp("Write a summary of the run here, as JSON.", valueName: "file"))
    var report: String?

    func validate() throws {
        guard tree?.isEmpty != true else { throw ValidationError("--tree takes a folder.") }
        for (option, file) in [("--failed", failed), ("--report", report)] where file == "-" {
            throw ValidationError(
                "\(option) takes a file: standard output has the paths. Use ./- for a file of that name.")
        }
        if let baseURL, !baseURL.isWebURL || baseURL.contains("?") {
            throw ValidationError("--base-url takes the http or https URL of a folder, without a query.")
        }
        for mirror in mirrors where !mirror.isWebURL { throw ValidationError("--mirror takes an http or https URL.") }
    }

    /// The mode from `--link-mode`, otherwise from the environment.
    var effectiveLinkMode: LinkMode { linkMode ?? .preset }

    /// Rejects options that conflict with the command's other options.
    func validate(_ urls: [String], _ several: BatchOptions, _ output: OutputOptions) throws {
        guard tree == nil || output.file == nil && output.directory == nil && !output.remoteName else {
            throw ValidationError("--tree does not go with -o, -d or -O.")
        }
        let hasFiles =
            tree != nil || output.directory != nil || output.remoteName || output.file.map { $0 != "-" } ?? false
        guard !adopt || hasFiles else { throw ValidationError("--adopt goes with -o, -d, -O or --tree.") }
        guard baseURL == nil || several.inputFile != nil else {
            throw ValidationError("--base-url goes with -i.")
        }
        guard mirrors.isEmpty || urls.count == 1 && several.inputFile == nil else {
            throw ValidationError("--mirror takes one URL; lists name the mirrors of each file themselves.")
        }
    }
}
