/// The most recently seen free space of the disk and size of the log, which the index does not know.
///
/// Caches the result of two system calls, which a small commit need not make each time.
struct DiskUsage {
    private(set) var free: Int64 = 0
    private(set) var log: Int64 = 0
    /// The number of bytes that may be written before the next look.
    private var credit: Int64 = 0

    /// The greatest number of bytes written between two looks.
    private static let longest: Int64 = 4 << 20
    /// The distance from the minimum of free space below which each write looks first: others write as well.
    private static let margin: Int64 = 256 << 20

    mutating func look(at paths: Paths, beforeWriting bytes: Int64, keepingFree minimum: Int64) {
        // Without credit, not even zero bytes are written before the first look.
        if credit > 0, bytes <= credit {
            credit -= bytes
            return
        }
        free = FileStatus.freeSpace(at: paths.root) ?? Int64.max / 2
        log = FileStatus(at: paths.log)?.allocated ?? 0
        credit = free - minimum > Self.margin + bytes ? Self.longest : 0
    }

    mutating func forget() { credit = 0 }
}
