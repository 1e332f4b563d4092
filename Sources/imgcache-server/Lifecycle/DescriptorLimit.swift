import FoundationEssentials
import Glibc

/// The limit of open files and sockets of the process.
enum DescriptorLimit {
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// Raises the limit to the maximum for this user: each connection uses a descriptor, each transfer several.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// The number of descriptors that the process may have.
    static var current: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 1024
    }

    /// The number of descriptors that it has.
    static var used: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0 }

    /// Has libdispatch open what the clocks' timers need, once: it ends the process if it cannot, which later a crowd of clients might see to.
    static func openTimers() async {
        async let continuous: Void? = try? Task.sleep(for: .milliseconds(10), clock: .continuous)
        async let suspending: Void? = try? Task.sleep(for: .milliseconds(10), clock: .suspending)
        _ = await (continuous, suspending)
    }

    /// The number of connections that so many descriptors are enough for, at least one.
    ///
    /// A connection has one, and its request up to four more: the origin's connection, the two files of a download and the stored body. Event
    /// loops have three each; a tenth, and 24, are left for connections that are refused, listeners, the index, workers, and what libraries
    /// open for a moment.
    static func connections(within descriptors: Int, eventLoops: Int, maxRequests: Int) -> Int {
        let perRequest = 4
        let left = descriptors - 3 * eventLoops - 24 - descriptors / 10
        let shared = left / (1 + perRequest)
        return max(1, shared < maxRequests ? shared : left - perRequest * maxRequests)
    }
}
