import Foundation
import Testing

struct DocumentationTests {
    private let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()

    private func text(of page: String) throws -> String {
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
    }

    @Test(arguments: [
        "ReadmeExample", "GettingStartedExample", "ServerExample", "DecoderExample", "EncoderExample",
        "ProcessorExample", "TransportExample",
    ])
    func `a page shows the example that is compiled here, word for word`(name: String) throws {
        let example = try String(
            contentsOf: here.appendingPathComponent("Documentation/\(name).swift"), encoding: .utf8)
        // "// PAGE shows this file …"
        let page = try #require(example.split(separator: " ").dropFirst().first.map(String.init))
        let body = example.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(separator: "\n")
        #expect(try text(of: page).contains("```swift\n" + body + "```"))
    }

    @Test(arguments: ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"])
    func `a relative link leads to a file`(page: String) throws {
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        for link in try text(of: page).matches(of: #/(?:\]\(|src(?:set)?=")(?!https?:)([^)"#]+)/#) {
            let path = String(link.output.1)
            #expect(FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path), "\(path)")
        }
    }

    @Test func `the README is one screen`() throws {
        #expect(try text(of: "README.md").split(whereSeparator: \.isWhitespace).count <= 700)
    }
}
