import ArgumentParser

/// The options of a command, and those that a command line contains.
struct CommandOptions {
    /// The name of each option, the long one, by its spellings (`--output`, `-o`).
    private var spellings: [String: String] = [:]
    /// The names of options that take a single value.
    private var single: Set<String> = []
    /// The names of options that take a value.
    private var valued: Set<String> = []

    /// The options that may be given more than once. A test compares them with the parser's own description.
    static let repeatable: Set<String> = [
        "--files", "--header", "--ignore-param", "--mirror", "--range", "--resolve", "--seed", "--signature-parameter",
    ]

    /// Reads the options from the command's help: its lines begin with `-o, --output <file>` or `--keep-going/--no-keep-going`.
    init(of command: any ParsableCommand.Type) {
        for line in command.helpMessage(includeHidden: true, columns: 1000).split(separator: "\n")
        where line.hasPrefix("  -") {
            var rest = line.dropFirst(2)
            var names: [String] = []
            repeat {
                let name = rest.prefix { $0 != " " && $0 != "," && $0 != "/" }
                names.append(String(name))
                rest = rest.dropFirst(name.count)
                let isFollowed = rest.hasPrefix(", -")
                rest = isFollowed ? rest.drop { $0 != "-" } : rest
            } while rest.hasPrefix("-")
            if rest.hasPrefix("/-") {
                let opposite = String(rest.dropFirst().prefix { $0 != " " })
                spellings[opposite] = opposite
            }
            guard let first = names.max(by: { $0.count < $1.count }) else { continue }
            for name in names { spellings[name] = first }
            guard rest.hasPrefix(" <") else { continue }
            valued.insert(first)
            if !Self.repeatable.contains(first) { single.insert(first) }
        }
    }

    /// The names of all options.
    var names: Set<String> { Set(spellings.values) }

    /// The spellings of options that take a single value, and the options' names.
    var singleValued: [String: String] { spellings.filter { single.contains($0.value) } }

    /// The names of the options in a command line, in order.
    func given(in arguments: some Sequence<String>) -> [String] { options(in: arguments).map(\.name) }

    /// The value of an option in a command line; `nil` if it is not given.
    func value(of option: String, in arguments: some Sequence<String>) -> String? {
        options(in: arguments).last { $0.name == option }?.value
    }

    private func options(in arguments: some Sequence<String>) -> [(name: String, value: String?)] {
        var found: [(name: String, value: String?)] = []
        var words = arguments.makeIterator()
        while let word = words.next(), word != "--" {
            for (spelling, rest) in Self.parts(of: word) {
                guard let name = spellings[spelling] else { continue }
                guard valued.contains(name) else {
                    found.append((name, nil))
                    continue
                }
                // The rest of the word is its value, and otherwise the next word, also if that looks like an option.
                found.append((name, rest.isEmpty ? words.next() : String(rest.first == "=" ? rest.dropFirst() : rest)))
                break
            }
        }
        return found
    }

    /// The first option with a single value that is given more than once. The parser would silently use the last value.
    func firstRepeated(in arguments: some Sequence<String>) -> String? {
        var seen: Set<String> = []
        return given(in: arguments).first { single.contains($0) && !seen.insert($0).inserted }
    }

    /// The options that an argument may contain, each with the text after it: `--output=file`, `-qofile`.
    private static func parts(of word: String) -> [(spelling: String, rest: Substring)] {
        guard word.hasPrefix("-"), word.count > 1 else { return [] }
        if word.hasPrefix("--") {
            let name = word.prefix { $0 != "=" }
            return [(String(name), word[name.endIndex...])]
        }
        return word.indices.dropFirst().prefix { word[$0] != "=" }.map {
            ("-\(word[$0])", word[word.index(after: $0)...])
        }
    }

    /// The options with a value and a short name, by that name. The help also contains them, but reading it takes longer than
    /// a hit. A test compares the two.
    static let longNames: [(short: String, long: String)] = [
        ("-A", "--user-agent"), ("-Q", "--quality"), ("-b", "--cookies"), ("-d", "--directory"), ("-i", "--input-file"),
        ("-j", "--parallel"), ("-m", "--max-time"), ("-o", "--output"), ("-s", "--size"), ("-u", "--user"),
    ]

    /// Returns true if an option may be given more than once. This is a fast test of the words alone, which suffices for most command lines.
    static func mayRepeat(in arguments: some Sequence<String>) -> Bool {
        var seen: Set<String> = []
        return arguments.prefix { $0 != "--" }.flatMap(parts).map(\.spelling)
            .contains { name in !seen.insert(longNames.first { $0.short == name }?.long ?? name).inserted }
    }
}
