import DiskStore
import DownloadLists
import Testing

@testable import imgcache

@Suite("The files of a run in a folder") struct FolderTargetsTests {
    private func targets(_ outputs: [String]) throws -> FolderTargets {
        let downloads = outputs.enumerated().map { number, output in
            var download = ListedDownload("http://a/\(number)")
            download.output = output
            return download
        }
        return try FolderTargets(
            "folder", .listed, overwrite: false, FileWriting(.copy, keepsDate: false), downloads: downloads)
    }

    @Test func `names that are equal only by canonical equivalence are two files`() throws {
        _ = try targets(["caf\u{E9}", "cafe\u{301}"])
        #expect(throws: Failure.self) { try targets(["caf\u{E9}", "caf\u{E9}"]) }
    }

    @Test func `a file and a folder collide only if their bytes are equal`() throws {
        _ = try targets(["caf\u{E9}", "cafe\u{301}/x"])
        #expect(throws: Failure.self) { try targets(["caf\u{E9}", "caf\u{E9}/x"]) }
        // The slash and the mark are one `Character`.
        #expect(throws: Failure.self) { try targets(["a", "a/\u{301}x"]) }
    }

    @Test func `two URLs of a tree that differ in one spelling of a letter have two files`() throws {
        let downloads = ["http://a/caf%C3%A9", "http://a/cafe%CC%81"].map { ListedDownload($0) }
        _ = try FolderTargets(
            "folder", .tree, overwrite: false, FileWriting(.copy, keepsDate: false), downloads: downloads)
    }
}
