import Foundation
import TestSupport
import Testing

@testable import ImageCache

@Suite("A cache directory in a folder that belongs to everybody")
struct SharedNameTests {
    @Test func `a new directory is this user's alone, and is found again`() throws {
        let test = try TestDirectory()
        let path = test.path("cache")
        try DownloadCache.takeSharedName(path, creating: false)
        #expect(!FileManager.default.fileExists(atPath: path))
        for _ in 0..<2 { try DownloadCache.takeSharedName(path, creating: true) }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
    }

    @Test(arguments: [false, true])
    func `what others made, or may write to, is refused`(creating: Bool) throws {
        let test = try TestDirectory()
        for (name, mode) in [("group", 0o770), ("all", 0o777)] {
            try FileManager.default.createDirectory(
                atPath: test.path(name), withIntermediateDirectories: false, attributes: [.posixPermissions: mode])
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: test.path(name))
        }
        try FileManager.default.createSymbolicLink(atPath: test.path("link"), withDestinationPath: test.path)
        try Data().write(to: URL(filePath: test.path("file")))
        for name in ["group", "all", "link", "file"] {
            let error = #expect(throws: ImageCacheError.self, "\(name)") {
                try DownloadCache.takeSharedName(test.path(name), creating: creating)
            }
            #expect(error?.code == .store(.notWritable))
        }
    }
}
