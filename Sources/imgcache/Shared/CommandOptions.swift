import ArgumentParser
import FoundationEssentials

/// The options of a command, and those that a command line contains.
struct CommandOptions {
    /// The name of each option, the long one, by its spellings (`--output`, `-o`).
    private var spellings: [String: String] = [:]
    /// The names of options that take a single value.
    private var single: Set<String> = []

    init(of command: any ParsableCommand.Type) {
        let text = Data(command._dumpHelp().utf8)
        guard let tool = try? JSONDecoder().decode(Tool.self, from: text) else { return }
        for argument in tool.command.arguments ?? [] {
            let names = (argument.names ?? []).map(\.spelling)
            guard let first = names.max(by: { $0.count < $1.count }) else { continue }
            for name in names { spellings[name] = first }
            if argument.kind == "option", !argument.isRepeating { single.insert(first) }
        }
    }

    /// The names of all options.
    var names: Set<String> { Set(spellings.values) }

    /// The spellings of options that take a single value, and the options' names.
    var singleValued: [String: String] { spellings.filter { single.contains($0.value) } }

    /// The names of the options in a command line, in order.
    func given(in arguments: some Sequence<String>) -> [String] {
        arguments.prefix { $0 != "--" }.flatMap(Self.spellings).compactMap { spellings[$0] }
    }

    /// The first option with a single value that is given more than once. The parser would silently use the last value.
    func firstRepeated(in arguments: some Sequence<String>) -> String? {
        var seen: Set<String> = []
        return given(in: arguments).first { single.contains($0) && !seen.insert($0).inserted }
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
        ("-A", "--user-agent"), ("-Q", "--quality"), ("-b", "--cookies"), ("-d", "--directory"), ("-i", "--input-file"),
        ("-j", "--parallel"), ("-m", "--max-time"), ("-o", "--output"), ("-s", "--size"), ("-u", "--user"),
    ]

    /// Returns true if an option may be given more than once. This is a fast test of the words alone, which suffices for most command lines.
    static func mayRepeat(in arguments: some Sequence<String>) -> Bool {
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
