import Foundation
import Testing

@Suite("The page of requirements")
struct RequirementsPageTests {
    private static let tests = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent()
    private static let page = tests.deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/HTTPCaching/HTTPCaching.docc/HTTPCaching.md")

    /// The tests of this module, of the one that parses its fields, and of the keys that its user stores responses under.
    private static let folders =
        [tests]
        + ["HTTPSemanticsTests", "ImageCacheTests"].map(tests.deletingLastPathComponent().appendingPathComponent)

    /// The names of all these tests, as `Suite.name`.
    private func testNames() throws -> Set<String> {
        var names: Set<String> = []
        let files = try Self.folders.flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        for file in files where file.pathExtension == "swift" {
            var suite = ""
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if line.hasPrefix("struct "), let name = line.dropFirst(7).split(whereSeparator: { !$0.isLetter }).first
                {
                    suite = String(name)
                } else if let start = line.firstIndex(of: "`"), let end = line.lastIndex(of: "`"), start < end,
                    // A long name is on its own line.
                    line[..<start].allSatisfy({ $0 == " " }) || line[..<start].hasSuffix("func ")
                {
                    names.insert("\(suite).\(line[line.index(after: start)..<end])")
                }
            }
        }
        return names
    }

    private func rows() throws -> [[Substring]] {
        try String(contentsOf: Self.page, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") }
            .map { $0.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false) }
            .filter { $0.count == 3 && $0[0] != " section " }
    }

    private func citedTests(_ cell: Substring) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 && $0.element.contains(".") }
            .map { String($0.element) }
    }

    @Test func `has no empty row, and every test that it names exists`() throws {
        let rows = try rows()
        let names = try testNames()
        #expect(rows.count > 130)
        for row in rows {
            for cell in row { #expect(cell.contains { $0.isLetter || $0.isNumber }, "\(row)") }
            for test in citedTests(row[2]) { #expect(names.contains(test), "no test \(test)") }
        }
    }

    @Test func `names every test that quotes an RFC`() throws {
        let cited = Set(try rows().flatMap { citedTests($0[2]) })
        let suites = [
            "StoringTests", "StoredFieldTests", "PartialContentTests", "VaryTests", "ValidationRequestTests",
            "ClientConditionTests",
            "InvalidationTests", "TargetedFieldTests", "ImmutableTests", "CacheStatusTests", "RequestDirectiveTests",
        ]
        // A test that quotes an RFC is named by the section first.
        let missing = try testNames().filter { name in
            suites.contains { name.hasPrefix($0 + ".") && name.dropFirst($0.count + 1).first?.isNumber == true }
                && !cited.contains(name)
        }
        // The safeguard against too many fields is no requirement of an RFC's.
        let exceptions: Set = [
            "StoredFieldTests.3.2: a response with more fields than can be held updates nothing, and does no harm"
        ]
        #expect(
            missing.subtracting(exceptions).isEmpty,
            "\(missing.sorted())")
    }
}
