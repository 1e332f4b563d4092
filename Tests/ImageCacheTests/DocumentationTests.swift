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

    private var root: URL { here.deletingLastPathComponent().deletingLastPathComponent() }

    /// All Markdown files of the repository, by their paths.
    private func pages() throws -> [String] {
        let files = try #require(FileManager.default.enumerator(atPath: root.path))
        var pages: [String] = []
        while let path = files.nextObject() as? String {
            let name = path.split(separator: "/").last ?? ""
            // Build folders, and what tools keep.
            if name.hasPrefix("."), name != ".ci" { files.skipDescendants() }
            if name.hasSuffix(".md") { pages.append(path) }
        }
        return pages
    }

    /// The prose of a page: code may look like a link.
    private func prose(of page: String) throws -> String {
        var isCode = false
        let lines = try text(of: page).split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if line.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
            return !isCode
        }
        return lines.joined(separator: "\n").replacing(#/`[^`\n]*`/#, with: "")
    }

    @Test func `each relative link of a page leads to a file`() throws {
        let pages = try pages()
        #expect(pages.count > 80)
        for page in pages {
            let folder = root.appendingPathComponent(page).deletingLastPathComponent()
            // DocC finds the resources of a catalogue by their names, with or without an extension.
            let parts = page.split(separator: "/")
            let resources = try parts.firstIndex { $0.hasSuffix(".docc") }.map { end -> [String] in
                let folder = root.appendingPathComponent(parts[...end].joined(separator: "/") + "/Resources").path
                guard FileManager.default.fileExists(atPath: folder) else { return [] }
                return try FileManager.default.contentsOfDirectory(atPath: folder)
            }
            for link in try prose(of: page).matches(of: #/(?:\]\(|src(?:set)?=")(?![a-z]+:)([^)"#\s]+)/#) {
                let path = String(link.output.1)
                let isThere = FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path)
                let isResource = resources?.contains { $0 == path || $0.hasPrefix(path + ".") } ?? false
                #expect(isThere || isResource, "\(page): \(path)")
            }
        }
    }

    @Test func `each link to a page of the documentation leads to an existing page`() throws {
        let pages = try pages()
        let names = Set(pages.compactMap { $0.split(separator: "/").last?.dropLast(3) })
        for page in pages {
            for link in try prose(of: page).matches(of: #/<doc:([A-Za-z]+)>/#) {
                #expect(names.contains(link.output.1), "\(page): \(link.output.1)")
            }
        }
    }

    @Test func `each suite of tests and part of the soak that a page on reliability names exists`() throws {
        let page = try text(of: "Sources/ImageCache/ImageCache.docc/Reliability.md")
        let files = try #require(FileManager.default.enumerator(atPath: root.appendingPathComponent("Tests").path))
        let names = Set(files.compactMap { ($0 as? String)?.split(separator: "/").last.map(String.init) })
        let suites = page.matches(of: #/`([A-Z][A-Za-z]+Tests)`/#).map { String($0.output.1) }
        #expect(suites.count > 20)
        for suite in suites { #expect(names.contains(suite + ".swift"), "\(suite)") }
        let soak = try text(of: "scripts/soak")
        let list = try #require(soak.firstMatch(of: #/parts=\(\s*(crash-points[^)]*)\)/#)?.output.1)
        let parts = list.split(whereSeparator: \.isWhitespace)
        #expect(parts.count > 8)
        for part in parts { #expect(page.contains("`\(part)`"), "\(part)") }
    }

    @Test func `the downloader example has at most forty lines`() throws {
        #expect(try text(of: "Examples/Downloader/Downloader.swift").split(separator: "\n").count <= 40)
    }

    @Test func `the README is one screen`() throws {
        #expect(try text(of: "README.md").split(whereSeparator: \.isWhitespace).count <= 700)
    }
}
