import ArgumentParser
import Foundation
import Testing

@testable import imgcache

@Suite("Options that are given twice")
struct CommandOptionsTests {
    @Test func `every short name of an option with a value is known by its long one`() {
        var known: [String: String] = [:]
        for command in Main.configuration.subcommands {
            known.merge(CommandOptions(of: command).singleValued.filter { !$0.key.hasPrefix("--") }) { first, _ in first
            }
        }
        #expect(known == Dictionary(uniqueKeysWithValues: CommandOptions.longNames.map { ($0.short, $0.long) }))
    }

    /// The part of the parser's own description that the help is compared with.
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

    @Test func `the options in the help of each command are those that the parser describes`() throws {
        for command in Main.configuration.subcommands {
            let tool = try JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8))
            var (names, single): (Set<String>, Set<String>) = ([], [])
            for argument in tool.command.arguments ?? [] {
                let spellings = (argument.names ?? []).map(\.spelling)
                guard let first = spellings.max(by: { $0.count < $1.count }) else { continue }
                names.insert(first)
                if argument.kind == "option", !argument.isRepeating { single.formUnion(spellings) }
            }
            let options = CommandOptions(of: command)
            #expect(options.names == names, "\(command)")
            #expect(Set(options.singleValued.keys) == single, "\(command)")
        }
    }

    @Test(arguments: [
        ["-o", "a", "--output", "b"], ["-oa", "-o", "b"], ["--user=a", "-u", "b"], ["-qj4", "--parallel=5"],
    ])
    func `a pair of spellings of one option is found`(arguments: [String]) {
        #expect(CommandOptions.mayRepeat(in: arguments))
    }

    @Test(arguments: [["-o", "a", "--cache-dir", "b"], ["-q", "--json", "http://h/"], ["-o", "a", "--", "-o"]])
    func `a command line without a repeated option does not need the parser's description`(arguments: [String]) {
        #expect(!CommandOptions.mayRepeat(in: arguments))
    }
}
