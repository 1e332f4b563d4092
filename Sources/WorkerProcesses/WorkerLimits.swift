/// The limits of a worker process over its lifetime.
package struct WorkerLimits: Sendable {
    /// The memory in bytes that a worker may use in addition to its initial memory, and the bytes of its in-memory files
    /// (``GrantedMemory``). Default 1 GiB.
    package var memory = 1 << 30
    /// The seconds of CPU time after which the system ends the worker. Default one hour. A worker is replaced after half of it.
    package var seconds = 3600
    /// The number of pieces of work after which the worker is replaced. Default 1,000.
    package var requests = 1_000

    package init() {}

    /// The memory in bytes that a worker may keep after its work: four times its initial memory, or 64 MiB more than that, which an
    /// allocator may retain.
    static func mostKept(by idle: Int64) -> Int64 { max(idle * 4, idle + 64 << 20) }
}
