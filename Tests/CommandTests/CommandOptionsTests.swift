import ArgumentParser
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
