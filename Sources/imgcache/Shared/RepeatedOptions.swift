import ArgumentParser
import FoundationEssentials

/// Finds options with a single value that are given more than once. The parser would silently use the last one.
struct RepeatedOptions {
    /// The name of each option, the long one first, by its spellings (`--output`, `-o`).
    private var spellings: [String: String] = [:]

    /// The options of a command that take a single value.
    init(of command: any ParsableCommand.Type) {
        let text = Data(command._dumpHelp().utf8)
        guard let tool = try? JSONDecoder().decode(Tool.self, from: text) else { return }
        for argument in tool.command.arguments ?? [] where argument.kind == "option" && !argument.isRepeating {
            let names = (argument.names ?? []).map(\.spelling)
            guard let first = names.max(by: { $0.count < $1.count }) else { continue }
            for name in names { spellings[name] = first }
        }
    }

    /// All spellings of options, and the options' names.
    var names: [String: String] { spellings }

    /// The first option that is given more than once.
    func first(in arguments: some Sequence<String>) -> String? {
        var seen: Set<String> = []
        for argument in arguments {
            if argument == "--" { return nil }
            for name in Self.spellings(in: argument) {
                guard let option = spellings[name] else { continue }
                if !seen.insert(option).inserted { return option }
            }
        }
        return nil
    }

    /// The options that an argument may contain: `--output`, `--output=file`, `-o`, `-qo`.
    private static func spellings(in argument: String) -> [String] {
        guard argument.hasPrefix("-"), argument.count > 1 else { return [] }
        if argument.hasPrefix("--") { return [String(argument.prefix { $0 != "=" })] }
        return argument.dropFirst().prefix { $0 != "=" }.map { "-\($0)" }
    }

    /// The options with a value and a short name, by that name. The parser's description also contains them, but reading it takes longer
    /// than a hit. A test compares the two.
    static let longNames: [(short: String, long: String)] = [
        ("-A", "--user-agent"), ("-Q", "--quality"), ("-d", "--directory"), ("-i", "--input-file"),
        ("-j", "--parallel"), ("-m", "--max-time"), ("-o", "--output"), ("-s", "--size"), ("-u", "--user"),
    ]

    /// Returns true if an option may be repeated. This is a fast test of the words alone, which suffices for most command lines.
    static func isPossible(in arguments: some Sequence<String>) -> Bool {
        var seen: Set<String> = []
        return arguments.prefix { $0 != "--" }.flatMap(spellings)
            .contains { name in !seen.insert(longNames.first { $0.short == name }?.long ?? name).inserted }
    }

    /// The required part of the parser's own description.
    private struct Tool: Decodable {
        var command: Command

        struct Command: Decodable { var arguments: [Argument]? }

        struct Argument: Decodable {
            var kind: String
            var isRepeating: Bool
            var names: [Name]?
        }

        struct Name: Decodable {
            var kind: String
            var name: String

            var spelling: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }
    }
}
