import ArgumentParser
import Foundation
import Testing

@testable import imgcache

struct CommandReferenceTests {
    /// The help of every command, as the page shows it: options that several commands have in the same words stand once, before all of them.
    private var help: String {
        let commands = Main.configuration.subcommands.flatMap { command in
            [("", command)] + command.configuration.subcommands.map { (command._commandName + " ", $0) }
        }.map { group, command in
            let text = Main.helpMessage(for: command, columns: 100).replacing(#/ +\n/#, with: "\n")
            return (name: group + command._commandName, sections: HelpSection.sections(of: text))
        }
        var uses: [String: Int] = [:]
        for command in commands {
            for option in command.sections.flatMap(\.options) { uses[option, default: 0] += 1 }
        }
        var common: [HelpSection] = []
        for section in commands.flatMap(\.sections) {
            for option in section.options where uses[option, default: 0] > 1 {
                if common.contains(where: { $0.options.contains(option) }) { continue }
                guard let index = common.firstIndex(where: { $0.text == section.text }) else {
                    common.append(HelpSection(text: section.text, options: [option]))
                    continue
                }
                common[index].options.append(option)
            }
        }
        let pages = commands.map { command in
            "### imgcache \(command.name)\n\n```text\n"
                + command.sections.map { $0.printed(leavingOut: { uses[$0, default: 0] > 1 }, common) }.joined()
                + "```\n"
        }
        return "### Common options\n\n```text\n" + common.map { $0.printed(leavingOut: { _ in false }, []) }.joined()
            + "```\n\n"
            + pages.joined(separator: "\n")
    }

    /// To regenerate it: `IMGCACHE_WRITE_REFERENCE=1 scripts/test --filter CommandReferenceTests`.
    @Test func `the command reference has the help of every command, as it is now`() throws {
        var root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let page = root.appendingPathComponent("Sources/ImageCache/ImageCache.docc/CommandReference.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let heading = "## Commands\n\n"
        let head = try #require(text.range(of: heading)).upperBound
        if ProcessInfo.processInfo.environment["IMGCACHE_WRITE_REFERENCE"] != nil {
            try (text[..<head] + help).write(to: page, atomically: true, encoding: .utf8)
            return
        }
        #expect(text[head...] == help, "see the comment on this test")
    }
}

/// A heading of a help text with its options, or text without options.
private struct HelpSection {
    /// The lines before the first option.
    var text: String
    /// Each with all of its lines.
    var options: [String]

    static func sections(of help: String) -> [HelpSection] {
        var sections: [HelpSection] = []
        for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
            let isHeading = line.wholeMatch(of: /[A-Z ]+:/) != nil
            if isHeading || sections.isEmpty { sections.append(HelpSection(text: "", options: [])) }
            let last = sections.count - 1
            if isHeading || line.isEmpty && sections[last].options.isEmpty {
                sections[last].text += line + "\n"
            } else if line.hasPrefix("  -") {
                sections[last].options.append(line + "\n")
            } else if line.hasPrefix("      "), let option = sections[last].options.indices.last {
                sections[last].options[option] += line + "\n"
            } else if !line.isEmpty {
                sections[last].text += line + "\n"
            }
        }
        return sections
    }

    /// - Parameters:
    ///   - isCommon: True for an option of which only the name is printed.
    ///   - common: The sections of common options. Of one that the command has completely, not even the names are printed.
    func printed(leavingOut isCommon: (String) -> Bool, _ common: [HelpSection]) -> String {
        let names = options.filter(isCommon).compactMap { $0.firstMatch(of: /--[a-z0-9-]+/).map { String($0.output) } }
        let isComplete =
            names.count > 4 && common.contains { $0.text == self.text && Set($0.options).isSubset(of: options) }
        var text = text + options.filter { !isCommon($0) }.joined()
        if isComplete {
            text += "  All common options.\n"
        } else if !names.isEmpty {
            var line = "  Common options:"
            for name in names {
                if line.count + name.count > 96 {
                    text += line + "\n"
                    line = "   "
                }
                line += " " + name
            }
            text += line + "\n"
        }
        return text.hasSuffix("\n\n") ? text : text + "\n"
    }
}
