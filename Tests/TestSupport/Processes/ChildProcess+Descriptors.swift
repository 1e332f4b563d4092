import Foundation
public import Glibc

// Glibc's module map leaves this GNU extension out.
@_silgen_name("prlimit")
private func processLimit(
    _ process: pid_t, _ resource: Int32, _ new: UnsafePointer<rlimit>?, _ former: UnsafeMutablePointer<rlimit>?
) -> Int32

extension ChildProcess {
    /// The numbers of its open files and sockets.
    public var descriptors: [Int] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").compactMap { Int($0) } }
    }

    /// Lets it open descriptors below this number only, while it runs.
    ///
    /// - Returns: The limit that it had.
    @discardableResult
    public func limitDescriptors(below limit: rlim_t) throws -> rlim_t {
        let resource = Int32(RLIMIT_NOFILE.rawValue)
        var former = rlimit()
        guard processLimit(pid, resource, nil, &former) == 0 else { throw SystemCallFailure("prlimit") }
        var new = rlimit(rlim_cur: limit, rlim_max: former.rlim_max)
        guard processLimit(pid, resource, &new, nil) == 0 else { throw SystemCallFailure("prlimit") }
        return former.rlim_cur
    }

    /// Lets it open so many descriptors, apart from those that it has, while it runs.
    ///
    /// - Returns: The limit before.
    public func limitDescriptors(leaving room: Int) throws -> rlim_t {
        let open = Set(try descriptors)
        var limit = 0
        var free = room
        while free > 0 || open.contains(limit) {
            if !open.contains(limit) { free -= 1 }
            limit += 1
        }
        return try limitDescriptors(below: rlim_t(limit))
    }
}

/// Calls a function while this process can open no further descriptors. Only for tests in a process of their own.
public func withoutDescriptors<Result>(_ body: () throws -> Result) throws -> Result {
    let resource = Int32(RLIMIT_NOFILE.rawValue)
    var former = rlimit()
    guard processLimit(0, resource, nil, &former) == 0 else { throw SystemCallFailure("prlimit") }
    var none = rlimit(rlim_cur: 0, rlim_max: former.rlim_max)
    guard processLimit(0, resource, &none, nil) == 0 else { throw SystemCallFailure("prlimit") }
    defer { _ = processLimit(0, resource, &former, nil) }
    return try body()
}
