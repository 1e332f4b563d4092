import Digests
import Foundation
import Glibc
import Testing

@Suite("Files with a size limit")
struct LimitedFileTests {
    private func failure(_ path: String, limit: Int = 10, isRegular: Bool = true) throws -> String {
        try #require(throws: LimitedFile.Failure.self) {
            _ = try LimitedFile.bytes(of: path, limit: limit, isRegular: isRegular)
        }.description
    }

    @Test func `a file larger than the limit is not read`() throws {
        let path = NSTemporaryDirectory() + "imgcache-limited-\(UUID())"
        defer { unlink(path) }
        for count in [0, 9, 10, 70_000] {
            try Data(repeating: 7, count: count).write(to: URL(filePath: path))
            let bytes = try LimitedFile.bytes(of: path, limit: max(count, 10), isRegular: true)
            #expect(bytes.count == count && bytes.allSatisfy { $0 == 7 })
        }
        #expect(try failure(path, limit: 69_999) == "is larger than 68 KiB")
        #expect(try failure("/dev/zero", limit: 1 << 20, isRegular: false) == "is larger than 1 MiB")
    }

    @Test(.timeLimit(.minutes(5))) func `a pipe, a device or a directory is not read as a file`() throws {
        let path = NSTemporaryDirectory() + "imgcache-fifo-\(UUID())"
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        for path in [path, "/dev/zero", "/tmp"] { #expect(try failure(path) == "is not a file") }
        #expect(try failure(path + "-absent") == "No such file or directory")
    }
}
