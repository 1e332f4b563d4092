import ArgumentParser
import Foundation
import Testing

@testable import imgcache

struct CommandReferenceTests {
    /// The help of every command, as the page shows it.
    private var help: String {
        Main.configuration.subcommands.flatMap { command in
            [("", command)] + command.configuration.subcommands.map { (command._commandName + " ", $0) }
        }.map { group, command in
            let text = Main.helpMessage(for: command, columns: 100)
                .replacing(#/ +\n/#, with: "\n")
            return "### imgcache \(group)\(command._commandName)\n\n```text\n\(text)\n```\n"
        }.joined(separator: "\n")
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
