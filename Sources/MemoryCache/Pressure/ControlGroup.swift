/// A memory cgroup: a folder, and the version of its files.
struct ControlGroup: Sendable, Hashable {
    enum Version: Sendable { case v1, v2 }

    let version: Version
    /// Without a trailing slash.
    let folder: String

    /// The process's own cgroup and its ancestors, innermost first, as far as they are mounted: one chain for the
    /// memory controller of version 1, one for version 2. On a machine with both versions, the controller is in one of
    /// them.
    static func own(_ version: Version, files: SystemFiles) -> [ControlGroup] {
        chain(
            version, path: path(version, in: files.text("/proc/self/cgroup") ?? ""),
            mount: mount(version, in: files.text("/proc/self/mountinfo") ?? ""))
    }

    static func chain(_ version: Version, path: String?, mount: (root: String, folder: String)?) -> [ControlGroup] {
        guard let path, let mount else { return [] }
        // In a container the path may be the host's, while the mount starts at the container's own cgroup.
        var below = path[...]
        if mount.root != "/" {
            guard path == mount.root || path.hasPrefix(mount.root + "/") else {
                return [ControlGroup(version: version, folder: mount.folder)]
            }
            below = path.dropFirst(mount.root.count)
        }
        // A path outside of the process's cgroup namespace begins with "/..": only the mount itself is visible.
        var names = below.split(separator: "/")
        if names.contains("..") { names = [] }
        return (0...names.count).reversed().map { count in
            ControlGroup(
                version: version, folder: ([mount.folder] + names.prefix(count).map(String.init)).joined(separator: "/")
            )
        }
    }

    /// The process's path in the hierarchy, from `/proc/self/cgroup`: lines `number:controllers:path` (cgroups(7)).
    static func path(_ version: Version, in text: String) -> String? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isOurs =
                version == .v2
                ? fields[0] == "0" && fields[1].isEmpty : fields[1].split(separator: ",").contains("memory")
            if isOurs { return String(fields[2]) }
        }
        return nil
    }

    /// The mount point of the hierarchy, and the cgroup at its root, from `/proc/self/mountinfo`
    /// (proc_pid_mountinfo(5)).
    static func mount(_ version: Version, in text: String) -> (root: String, folder: String)? {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let dash = words.firstIndex(of: "-"), dash >= 6, words.count >= dash + 4 else { continue }
            let isOurs =
                version == .v2
                ? words[dash + 1] == "cgroup2"
                : words[dash + 1] == "cgroup" && words[dash + 3].split(separator: ",").contains("memory")
            if isOurs { return (unescaped(words[3]), unescaped(words[4])) }
        }
        return nil
    }

    /// Decodes escapes such as `\040` for a space.
    private static func unescaped(_ word: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(word.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ControlGroup {
    /// The limit in bytes; nil: none. It may change at any time.
    func limit(_ files: SystemFiles) -> Int64? {
        switch version {
        case .v2:
            // Above `memory.high` the kernel throttles allocations, which is equivalent to a limit for a service.
            let limits = ["memory.max", "memory.high"].compactMap { files.number("\(folder)/\($0)") }
            return limits.min()
        case .v1:
            // The largest number of whole pages means no limit.
            return files.number("\(folder)/memory.limit_in_bytes").flatMap { $0 >= 1 << 62 ? nil : $0 }
        }
    }

    /// The bytes used by it and its descendants, page cache included.
    func usage(_ files: SystemFiles) -> Int64? {
        files.number(version == .v2 ? "\(folder)/memory.current" : "\(folder)/memory.usage_in_bytes")
    }

    /// The page cache in bytes, which the kernel reclaims first.
    func pageCache(_ files: SystemFiles) -> Int64 {
        let prefix = version == .v2 ? "" : "total_"
        let text = files.text("\(folder)/memory.stat") ?? ""
        return ["active_file", "inactive_file"].reduce(0) { $0 + (SystemFiles.field(prefix + $1, in: text) ?? 0) }
    }
}
