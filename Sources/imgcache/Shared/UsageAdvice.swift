import ArgumentParser
import ImageCache

/// Advice about a command line that cannot be parsed: options of other downloaders, and misspelt commands.
enum UsageAdvice {
    /// The parser's message, with the prefix of all messages, and advice where there is some.
    static func message(_ message: String, for arguments: [String]) -> String {
        var lines = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if let first = lines.first, first.hasPrefix("Error: ") { lines[0] = "imgcache: " + first.dropFirst(7) }
        if let advice = advice(for: arguments, lines.first ?? "") {
            lines.insert("imgcache: \(advice)", at: min(1, lines.count))
        }
        // The parser repeats words of the command line.
        return CommandSecrets.withoutUserinfo(lines.joined(separator: "\n"))
    }

    static func advice(for arguments: [String], _ message: String) -> String? {
        let (command, rest) = Main.command(in: arguments)
        if command == Main.self {
            return arguments.first.flatMap { correction(of: $0, arguments.dropFirst()) }
        }
        if command.configuration.commandName == "fleet" {
            return rest.first.flatMap { nearest(to: $0, in: command) }.map { "did you mean \"imgcache fleet \($0)\"?" }
        }
        guard message.contains("Unknown option") else { return nil }
        return rest.lazy.compactMap { argument in
            // The parser names the argument, or one letter of it.
            let name = String(argument.prefix { $0 != "=" })
            guard name.hasPrefix("-"), message.contains("'\(name)") || !name.hasPrefix("--") else { return nil }
            return habit(name).map { "\(name): \($0)" }
        }.first
    }

    // MARK: Commands

    private static func correction(of word: String, _ rest: ArraySlice<String>) -> String? {
        guard !word.hasPrefix("-") else { return nil }
        if word.isWebURL || word.contains("/") && word.contains(".") {
            // Passwords are not repeated.
            let hasSecret = rest.contains { argument in
                CommandSecrets.options.contains { argument.hasPrefix($0) }
            }
            let words = [FileRequest(word).urlWithoutUserinfo] + (hasSecret ? ["…"] : Array(rest))
            return "did you mean \"imgcache fetch \(words.joined(separator: " "))\"?"
        }
        return nearest(to: word, in: Main.self).map { "did you mean \"imgcache \($0)\"?" }
    }

    private static func nearest(to word: String, in command: any ParsableCommand.Type) -> String? {
        nearest(to: word, among: command.configuration.subcommands.compactMap { $0.configuration.commandName })
            ?? (command == Main.self ? synonyms[word] : nil)
    }

    /// The name that differs least, in at most two letters.
    static func nearest(to word: String, among names: [String]) -> String? {
        let distances = names.map { (name: $0, distance: distance(word, $0)) }
        guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= min(2, best.name.count / 2) ? best.name : nil
    }

    private static let synonyms = [
        "download": "fetch", "get": "fetch", "delete": "rm", "remove": "rm", "list": "ls", "settings": "config",
        "gc": "prune",
        "thumbnail": "thumb", "resize": "thumb", "check": "verify", "server": "serve", "status": "stats",
    ]

    /// The number of letters to insert, remove, replace or swap.
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        var rows = [Array(0...other.count)]
        for (i, letter) in one.enumerated() {
            var row = [i + 1]
            for (j, wanted) in other.enumerated() {
                var least = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (letter == wanted ? 0 : 1))
                if i > 0, j > 0, letter == other[j - 1], one[i - 1] == wanted {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }

    // MARK: Options

    /// Advice in place of an option of curl, wget or aria2; `nil` for any other text.
    static func habit(_ name: String) -> String? {
        if let advice = habits[name] { return advice }
        // A cluster such as -fsSL, or a value without a space such as -x4.
        guard !name.hasPrefix("--"), let letter = name.dropFirst().first else { return nil }
        return habits["-\(letter)"]
    }

    private static let continued = "downloads are always continued; leave it out"
    private static let followed = "redirects are always followed, at most --max-redirs of them; leave it out"
    private static let silent = "use -q for no progress and no warnings"
    private static let failing = "error statuses always fail, with exit code 4; leave it out"
    private static let connections =
        "use --segments N to limit the connections for one file; they are added as they help"
    private static let habits = [
        "-c": continued, "-C": continued, "--continue": continued, "--continue-at": continued,
        "-L": followed, "--location": followed, "--follow": followed,
        "-s": silent, "--silent": silent, "-nv": silent, "--no-verbose": silent,
        "-S": "errors are always shown; leave it out", "--show-error": "errors are always shown; leave it out",
        "-f": failing, "--fail": failing,
        "-x": connections, "--max-connection-per-server": connections, "--split": connections,
        "-N": "a stored file is always validated unless it is fresh; leave it out",
        "--timestamping": "a stored file is always validated unless it is fresh; leave it out",
        "-P": "use -d DIR", "--directory-prefix": "use -d DIR", "--dir": "use -d DIR",
        "--out": "use -o FILE", "--output-document": "use -o FILE",
        "-t": "use --retry N", "--tries": "use --retry N", "--max-tries": "use --retry N",
        "-T": "use --connect-timeout TIME, --speed-time TIME or -m TIME",
        "--timeout": "use --connect-timeout TIME, --speed-time TIME or -m TIME",
        "-r": "use imgcache cat --range A-B URL", "--range": "use imgcache cat --range A-B URL",
        "-I": "use imgcache fetch -v to see the response, or imgcache info for a stored one",
        "--head": "use imgcache fetch -v to see the response, or imgcache info for a stored one",
        "--checksum": "use --sha256 HEX", "--checksum-algorithm": "use --sha256 HEX",
        "--no-check-certificate": "use --insecure", "--ca-certificate": "use --cacert FILE",
        "--certificate": "use --cert FILE",
        "-E": "use --cert FILE", "--load-cookies": "use --cookies FILE", "--cookie": "use --cookies FILE",
        "--max-download-limit": "use --limit-rate SIZE", "--lowest-speed-limit": "use --speed-limit SIZE",
        "--http-user": "use -u user:password", "--prefer-family": "use --ipv4 or --ipv6",
        "--inet4-only": "use --ipv4", "--inet6-only": "use --ipv6",
        "-J": "names by Content-Disposition are the default of -d and -O; leave it out",
        "--content-disposition": "names by Content-Disposition are the default of -d; leave it out",
        "--compressed": "bodies are fetched as they are; -H 'Accept-Encoding: gzip' asks for a compressed one",
        "-X": "imgcache sends GET only", "--request": "imgcache sends GET only",
    ]
}
