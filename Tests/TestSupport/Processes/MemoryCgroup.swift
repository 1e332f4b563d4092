import Foundation
import Glibc

/// A memory cgroup with a limit, version 1 or 2, into which a process can be put; root only, and gone with its release.
public final class MemoryCgroup: Sendable {
    public let folder: String

    /// The reason why it is unavailable here, or nil: for `.enabled(if:)`.
    public static let unavailableReason = SystemCallFailure.reason("no memory cgroup can be made here") {
        try MemoryCgroup(limit: 64 << 20)
    }

    /// - Parameter limit: in bytes, without swap.
    public init(limit: Int64) throws {
        var failure = SystemCallFailure("find the memory controller")
        for parent in Self.parents() {
            let folder = "\(parent)/imgcache-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            guard mkdir(folder, 0o755) == 0 else {
                failure = SystemCallFailure("mkdir \(folder)")
                continue
            }
            do {
                if access("\(folder)/memory.max", W_OK) == 0 {
                    try Self.write("\(limit)", to: "\(folder)/memory.max")
                    try? Self.write("0", to: "\(folder)/memory.swap.max")
                } else {
                    try Self.write("\(limit)", to: "\(folder)/memory.limit_in_bytes")
                    try? Self.write("\(limit)", to: "\(folder)/memory.memsw.limit_in_bytes")
                }
                self.folder = folder
                return
            } catch {
                rmdir(folder)
                guard let error = error as? SystemCallFailure else { throw error }
                failure = error
            }
        }
        throw failure
    }

    deinit {
        // The kernel needs a moment after the last process.
        _ = SystemCallFailure.whileBusy { rmdir(folder) }
    }

    /// Puts the calling process into the cgroup in `folder`; what it has allocated so far stays where it is.
    public static func enter(_ folder: String) throws {
        try write("\(getpid())", to: "\(folder)/cgroup.procs")
    }

    private static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY)
        guard descriptor >= 0 else { throw SystemCallFailure("open \(path)") }
        defer { close(descriptor) }
        guard text.withCString({ Glibc.write(descriptor, $0, strlen($0)) }) > 0 else {
            throw SystemCallFailure("write \(text) to \(path)")
        }
    }

    /// Folders in which one may be made: this process's own, and those above it (in version 2 a cgroup that has
    /// processes has no children with controllers).
    private static func parents() -> [String] {
        let lines = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.flatMap { line -> [String] in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 3 else { return [] }
            let mount: String
            switch fields[1] {
            case "memory": mount = "/sys/fs/cgroup/memory"
            case "": mount = "/sys/fs/cgroup"
            default: return []
            }
            guard fields[1] == "memory" || access("\(mount)/cgroup.controllers", R_OK) == 0 else { return [] }
            let names = fields[2].split(separator: "/").map(String.init)
            return (0...names.count).reversed().map { ([mount] + names.prefix($0)).joined(separator: "/") }
        }
    }
}
