import Glibc

/// A small file system in memory, so that a test can fill a disk or take write access away; root only.
public final class Tmpfs: Sendable {
    private let directory: TestDirectory
    public var path: String { directory.path }

    /// The reason why it is unavailable here, or nil: for `.enabled(if:)`.
    public static let unavailableReason = SystemCallFailure.reason("mounting a tmpfs needs root") {
        try Tmpfs(size: 1 << 20)
    }

    /// - Parameter size: in bytes; the kernel rounds it up to whole pages.
    public init(size: Int64) throws {
        directory = try TestDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=\(size)") == 0 else {
            throw SystemCallFailure("mount tmpfs on \(directory.path)")
        }
    }

    deinit {
        umount2(directory.path, Int32(MNT_DETACH))
    }

    /// Gives it another size; the files stay.
    public func resize(to size: Int64) throws {
        try remount(flags: 0, options: "size=\(size)")
    }

    /// Takes write access away, from root too, or gives it back.
    public func setReadOnly(_ readOnly: Bool) throws {
        try remount(flags: readOnly ? UInt(MS_RDONLY) : 0, options: "")
    }

    private func remount(flags: UInt, options: String) throws {
        // A process that another test is just starting holds this one's descriptors until its exec.
        let isDone = SystemCallFailure.whileBusy { mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | flags, options) }
        if !isDone { throw SystemCallFailure("remount \(path)") }
    }
}
