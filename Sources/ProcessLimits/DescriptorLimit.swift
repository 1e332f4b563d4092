import FoundationEssentials
import Glibc

/// The limit of open files and sockets of the process.
package enum DescriptorLimit {
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// Raises the limit to the maximum for this user: each connection uses a descriptor, each transfer several.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// The number of descriptors that the process may have.
    package static var current: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 1024
    }

    /// The number of descriptors that it has.
    package static var used: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
    }

    /// Has libdispatch open what the clocks' timers need, once: it ends the process if it cannot, which later a crowd of clients might see to.
    package static func openTimers() async {
        async let continuous: Void? = try? Task.sleep(for: .milliseconds(10), clock: .continuous)
        async let suspending: Void? = try? Task.sleep(for: .milliseconds(10), clock: .suspending)
        _ = await (continuous, suspending)
    }
}
