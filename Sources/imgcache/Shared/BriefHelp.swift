import ArgumentParser

/// The help of a command with many options: examples, and the options that most users need.
///
/// `--help` prints it, and `--help-all` prints all options.
struct BriefHelp {
    /// The long names of the options, in the order in which they are printed.
    let options: [String]
    /// Command lines, each with a comment.
    let examples: [(command: String, comment: String)]

    /// The text for a command line that asks for help; `nil` for any other one, which the parser handles.
    static func text(for arguments: [String], columns: @autoclosure () -> Int) -> String? {
        // "imgcache help fetch" is "imgcache fetch --help".
        let arguments = arguments.first == "help" ? arguments.dropFirst() + ["--help"] : arguments[...]
        let (command, rest) = Main.command(in: arguments)
        let words = rest.prefix { $0 != "--" }
        guard let brief = (command as? any BrieflyHelped.Type)?.briefHelp else { return nil }
        if words.contains("--help-all") { return Main.helpMessage(for: command, columns: columns()) }
        guard words.contains("--help") || words.contains("-h") else { return nil }
        return brief.text(of: Main.helpMessage(for: command, columns: columns()), name: command._commandName)
    }

    /// - Parameter help: The parser's help with all options.
    func text(of help: String, name: String) -> String {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        var entries: [(names: Substring, lines: [Substring])] = []
        for line in lines {
            if line.hasPrefix("  -") {
                entries.append((line.dropFirst(2).prefix { $0 != "<" }, [line]))
            } else if line.hasPrefix("   "), !entries.isEmpty {
                entries[entries.count - 1].lines.append(line)
            }
        }
        func isNamed(_ names: Substring, _ option: String) -> Bool {
            names.split { $0 == " " || $0 == "," || $0 == "/" }.contains { $0 == option }
        }
        var shown: [Substring] = Array(lines.prefix { !$0.isEmpty })
        shown += ["", lines.first { $0.hasPrefix("USAGE:") } ?? "", "", "EXAMPLES:"]
        for example in examples { shown += ["  # \(example.comment)", "  \(example.command)"] }
        shown += ["", "OPTIONS:"]
        for option in options { shown += entries.first { isNamed($0.names, option) }?.lines ?? [] }
        return shown.joined(separator: "\n")
            + "\n\nAll \(entries.count) options, and the exit codes: imgcache \(name) --help-all"
    }
}

/// A command with a brief help.
protocol BrieflyHelped: ParsableCommand {
    static var briefHelp: BriefHelp { get }
}

extension FetchCommand: BrieflyHelped {
    static let briefHelp = BriefHelp(
        options: [
            "--output", "--directory", "--input-file", "--sha256", "--mirror", "--header", "--user", "--offline",
            "--refresh", "--limit-rate", "--max-time", "--retry", "--json", "--quiet", "--cache-dir",
        ],
        examples: [
            ("imgcache fetch https://example.org/big.iso", "Into the cache; prints the path."),
            (
                "imgcache fetch -o big.iso https://example.org/big.iso",
                "Into a file; the same again resumes after an interruption."
            ),
            ("imgcache fetch -i urls.txt -d data --failed rest.txt", "Many files, into a folder."),
            (
                "imgcache fetch -i SHA256SUMS --base-url https://example.org/set/ -d set",
                "A set whose files are verified."
            ),
        ])
}

extension ThumbCommand: BrieflyHelped {
    static let briefHelp = BriefHelp(
        options: [
            "--output", "--directory", "--size", "--fit", "--format", "--quality", "--input-file", "--parallel",
            "--header", "--offline", "--json", "--quiet", "--cache-dir",
        ],
        examples: [
            ("imgcache thumb -s 320x240 -o small.jpg photo.png", "A local file."),
            ("imgcache thumb -s 320 -o small.webp https://example.org/photo.jpg", "Through the cache."),
            ("imgcache thumb -s 200x200 --fit cover -d thumbs *.jpg", "Many files, into a folder."),
        ])
}
