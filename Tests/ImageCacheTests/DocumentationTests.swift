import Foundation
import Testing

struct DocumentationTests {
    private let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()

    private func text(of page: String) throws -> String {
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
    }

    @Test(arguments: [
        "ImageCacheTests/Documentation/ReadmeExample", "ImageCacheTests/Documentation/GettingStartedExample",
        "ImageCacheTests/Documentation/ServerExample", "ImageCacheTests/Documentation/TestingExample",
        "ImageCacheTests/Documentation/DecoderExample", "ImageCacheTests/Documentation/EncoderExample",
        "ImageCacheTests/Documentation/ProcessorExample", "ImageCacheTests/Documentation/TransportExample",
        "MemoryCacheTests/Documentation/MemoryCacheExample", "HTTPSemanticsTests/Documentation/HTTPSemanticsExample",
    ])
    func `a page shows the example that its module's tests compile, word for word`(file: String) throws {
        let example = try text(of: "Tests/\(file).swift")
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

    @Test func `a downloader is forty lines on the library`() throws {
        #expect(try text(of: "Examples/Downloader/Downloader.swift").split(separator: "\n").count <= 40)
    }

    @Test func `the README is one screen`() throws {
        #expect(try text(of: "README.md").split(whereSeparator: \.isWhitespace).count <= 700)
    }
}
