/// The disk's free space and the log's size, as they were last seen: the index cannot know them by itself.
///
/// Two system calls that a small commit need not make each time.
struct DiskUsage {
    private(set) var free: Int64 = 0
    private(set) var log: Int64 = 0
    /// Bytes that may still be written before it is time to look again.
    private var credit: Int64 = 0

    /// So much is written at most between two looks,
    private static let longest: Int64 = 4 << 20
    /// and nothing without one while the free space is not so much above what must stay free: others write as well.
    private static let margin: Int64 = 256 << 20

    mutating func look(at paths: Paths, beforeWriting bytes: Int64, keepingFree minimum: Int64) {
        // Without credit not even nothing is written on a free space that was never looked at.
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
