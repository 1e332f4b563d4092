import Foundation
import Testing

@Suite("The README")
struct ReadmeTests {
    @Test("shows the library examples that are compiled here, word for word", arguments: ["Example", "Thumbnails"])
    func example(name: String) throws {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let example = try String(contentsOf: here.appendingPathComponent("Readme\(name).swift"), encoding: .utf8)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let body = example.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(separator: "\n")
        #expect(readme.contains("```swift\n" + body + "```"))
    }
}
