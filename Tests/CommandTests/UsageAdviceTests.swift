import ArgumentParser
import Testing

@testable import imgcache

@Suite("Advice for users of other programs")
struct UsageAdviceTests {
    private func message(_ arguments: String...) -> String {
        do {
            _ = try Main.parseAsRoot(arguments)
            return "accepted"
        } catch {
            return UsageAdvice.message(Main.fullMessage(for: error), for: arguments)
        }
    }

    @Test(arguments: [
        (["ftech", "http://h/"], "did you mean \"imgcache fetch\"?"),
        (["download", "x"], "did you mean \"imgcache fetch\"?"),
        (["http://h/a"], "did you mean \"imgcache fetch http://h/a\"?"),
        (["example.org/a.iso", "-o", "a"], "did you mean \"imgcache fetch example.org/a.iso -o a\"?"),
        (["fleet", "stauts"], "did you mean \"imgcache fleet status\"?"),
    ])
    func `a misspelt command is corrected`(arguments: [String], advice: String) {
        let error = Result { try Main.parseAsRoot(arguments) }
        guard case .failure(let error) = error else { return #expect(Bool(false), "accepted") }
        let text = UsageAdvice.message(Main.fullMessage(for: error), for: arguments)
        #expect(text.hasPrefix("imgcache: ") && text.contains("\nimgcache: \(advice)\n"), "\(text)")
    }

    @Test(arguments: [
        ["http://ann:pw@h/a"], ["http://h/a", "-u", "ann:pw"], ["http://h/a", "--header=Authorization: pw"],
    ])
    func `a correction does not repeat passwords`(arguments: [String]) {
        #expect(
            UsageAdvice.advice(for: arguments, "")
                == "did you mean \"imgcache fetch http://h/a\(arguments.count > 1 ? " …" : "")\"?")
    }

    @Test(arguments: [
        ("-c", "always continued"), ("-L", "always followed"), ("-s", "use -q"), ("-x4", "--segments"),
        ("-fsSL", "always fail"),
        ("--continue=true", "always continued"), ("--output-document=a", "use -o"), ("-N", "validated"),
        ("--load-cookies", "--cookies"), ("--max-tries=5", "--retry"),
    ])
    func `an option of curl, wget or aria2 is answered with the option of imgcache`(option: String, advice: String) {
        let text = message("fetch", option, "http://h/")
        #expect(text.contains(advice), "\(text)")
    }

    @Test func `a word that resembles nothing gets no advice`() {
        #expect(!message("frobnicate").contains("did you mean"))
        #expect(!message("fetch", "--frobnicate", "http://h/").contains("imgcache: --frob"))
    }

    @Test(arguments: [("fetch", "ftech", 1), ("ls", "sl", 1), ("rm", "rm", 0), ("verify", "varfy", 2), ("", "abc", 3)])
    func `the distance counts inserted, removed, replaced and swapped letters`(one: String, other: String, count: Int) {
        #expect(UsageAdvice.distance(one, other) == count)
        #expect(UsageAdvice.distance(other, one) == count)
    }

    // MARK: Brief help

    @Test(arguments: [["fetch", "--help"], ["fetch", "-h"], ["help", "fetch"], ["fetch", "http://h/", "--help"]])
    func `the help of fetch has four examples and fifteen options`(arguments: [String]) throws {
        let text = try #require(BriefHelp.text(for: arguments, columns: 80))
        let lines = text.split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("  imgcache fetch") } == 4, "\(text)")
        #expect(lines.count { $0.hasPrefix("  -") } == 15, "\(text)")
        #expect(lines.allSatisfy { $0.count <= 100 }, "\(text)")
        #expect(text.hasSuffix("imgcache fetch --help-all"))
    }

    @Test func `every option of a brief help exists`() throws {
        for command in Main.configuration.subcommands {
            guard let brief = (command as? any BrieflyHelped.Type)?.briefHelp else { continue }
            let names = CommandOptions(of: command).names
            for option in brief.options { #expect(names.contains(option), "\(command._commandName) \(option)") }
        }
        let all = try #require(BriefHelp.text(for: ["fetch", "--help-all"], columns: 100))
        #expect(all == Main.helpMessage(for: FetchCommand.self, columns: 100))
        #expect(BriefHelp.text(for: ["fetch", "--", "--help"], columns: 80) == nil)
        #expect(BriefHelp.text(for: ["ls", "--help"], columns: 80) == nil)
    }

    @Test func `every setting of the configuration file is an option of a command`() {
        var names: Set<String> = []
        for command in Main.configuration.subcommands { names.formUnion(CommandOptions(of: command).names) }
        for setting in Settings.names { #expect(names.contains("--" + setting.option), "\(setting.option)") }
    }
}
