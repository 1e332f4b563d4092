/// The bounds of a worker process over its life.
package struct WorkerLimits: Sendable {
    /// Bytes of memory that it may have beside those that every worker begins with, and bytes of files in memory (``GrantedMemory``). Default
    /// 1 GiB.
    package var memory = 1 << 30
    /// Seconds of CPU time after which the system ends it. Default an hour; it is replaced after half of them.
    package var seconds = 3600
    /// Pieces of work after which it is replaced. Default 1,000.
    package var requests = 1_000

    package init() {}

    /// Bytes that a worker may keep after its work: four times those that it began with, or 64 MiB more, which an allocator may keep.
    static func mostKept(by idle: Int64) -> Int64 { max(idle * 4, idle + 64 << 20) }
}
