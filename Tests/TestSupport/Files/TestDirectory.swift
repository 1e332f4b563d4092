import Foundation
import Glibc

/// A new directory, which is removed with its content when it is released.
public final class TestDirectory: Sendable {
    public let path: String

    /// - Parameter parent: where to make it; nil: the system's temporary directory.
    public init(in parent: String? = nil) throws {
        let parent = parent ?? FileManager.default.temporaryDirectory.path
        var template = Array("\(parent)/imgcache-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemCallFailure("mkdtemp \(parent)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of `name` inside, whether it exists or not.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file inside and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: path(name), atomically: false, encoding: .utf8)
        return path(name)
    }

    /// As ``write(_:to:)``, of bytes.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }
}

/// The space of a directory on its file system, measured from outside.
public enum DiskUsage {
    /// Allocated bytes below `path`, as `du` counts them: blocks of 512 bytes, each inode once, the directories too.
    public static func bytes(at path: String) -> Int64 {
        var seen: Set<UInt64> = []
        func allocated(_ path: String) -> Int64 {
            var status = stat()
            guard lstat(path, &status) == 0, seen.insert(UInt64(status.st_ino)).inserted else { return 0 }
            return Int64(status.st_blocks) * 512
        }
        let below = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return below.reduce(allocated(path)) { $0 + allocated("\(path)/\($1)") }
    }

    /// Paths of the regular files below `path`, relative to it, sorted.
    public static func files(at path: String) -> [String] {
        (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).filter {
            var status = stat()
            return lstat("\(path)/\($0)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }.sorted()
    }
}
