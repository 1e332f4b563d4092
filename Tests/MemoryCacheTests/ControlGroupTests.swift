import Testing

@testable import MemoryCache

@Suite struct ControlGroupTests {
    struct Layout: Sendable, CustomTestStringConvertible {
        let name: String
        let version: ControlGroup.Version
        let cgroup: String
        let mountinfo: String
        /// From the process's own upwards.
        let folders: [String]
        var testDescription: String { name }
    }

    private static let mounts = """
        23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
        """

    static let layouts = [
        Layout(
            name: "version 2 under systemd", version: .v2, cgroup: "0::/system.slice/thumbs.service\n",
            mountinfo:
                "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot",
            folders: ["/sys/fs/cgroup/system.slice/thumbs.service", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup"]),
        Layout(
            name: "version 2 in a container with a namespace", version: .v2, cgroup: "0::/\n",
            mountinfo: "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw", folders: ["/sys/fs/cgroup"]),
        Layout(
            name: "version 1 beside version 2: the limits", version: .v1,
            cgroup: "9:name=systemd:/\n4:memory:/jobs/one\n1:cpu:/\n0::/unified/path\n", mountinfo: mounts,
            folders: ["/sys/fs/cgroup/memory/jobs/one", "/sys/fs/cgroup/memory/jobs", "/sys/fs/cgroup/memory"]),
        Layout(
            name: "version 1 beside version 2: the stalls", version: .v2,
            cgroup: "4:memory:/jobs/one\n0::/u\n", mountinfo: mounts,
            folders: ["/sys/fs/cgroup/unified/u", "/sys/fs/cgroup/unified"]),
        Layout(
            name: "version 1 in a container: the path is the host's, the mount begins at the container", version: .v1,
            cgroup: "7:hugetlb,memory:/docker/abc/below\n",
            mountinfo: "40 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,hugetlb,memory",
            folders: ["/sys/fs/cgroup/memory/below", "/sys/fs/cgroup/memory"]),
        Layout(
            name: "a mount that does not show the process's path", version: .v1,
            cgroup: "7:memory:/docker/abcdef\n",
            mountinfo: "40 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory",
            folders: ["/sys/fs/cgroup/memory"]),
        Layout(
            name: "outside the namespace", version: .v2, cgroup: "0::/../../other\n",
            mountinfo: "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw", folders: ["/sys/fs/cgroup"]),
        Layout(
            name: "a blank in the mount's path, a colon in the cgroup's", version: .v2, cgroup: "0::/a:b\n",
            mountinfo: #"30 23 0:26 / /sys/my\040cgroup rw - cgroup2 cgroup rw"#,
            folders: ["/sys/my cgroup/a:b", "/sys/my cgroup"]),
        Layout(name: "not mounted", version: .v1, cgroup: "4:memory:/x\n", mountinfo: "", folders: []),
        Layout(name: "no such controller", version: .v1, cgroup: "0::/\n", mountinfo: mounts, folders: []),
        Layout(name: "nonsense", version: .v2, cgroup: ":::\n0:\n\n", mountinfo: "1 2 - \n- cgroup2", folders: []),
    ]

    @Test(arguments: layouts)
    func `the process's cgroups are found where they are mounted`(_ layout: Layout) throws {
        let path = ControlGroup.path(layout.version, in: layout.cgroup)
        let mount = ControlGroup.mount(layout.version, in: layout.mountinfo)
        let groups = ControlGroup.chain(layout.version, path: path, mount: mount)
        #expect(groups.map(\.folder) == layout.folders)
    }

    @Test func `a field is found by its whole name, with or without a colon`() {
        let text = "MemTotal:  24684096 kB\nMemAvailable:   21476568 kB\ninactive_file 4096\nactive_file 1085440\n"
        #expect(SystemFiles.field("MemAvailable", in: text) == 21_476_568)
        #expect(SystemFiles.field("active_file", in: text) == 1_085_440)
        #expect(SystemFiles.field("file", in: text) == nil)
    }
}
