/// The most recently seen free space of the disk, size of the log and size of the index, which the totals do not have.
///
/// Caches the results of two system calls and three statements, which a small commit need not make each time.
struct DiskUsage {
    /// The index's pages.
    struct Pages {
        var all: Int64 = 0
        var free: Int64 = 0
        /// The bytes of lists in them.
        var lists: Int64 = 0
    }

    private(set) var free: Int64 = 0
    private(set) var log: Int64 = 0
    private(set) var pages = Pages()
    /// The number of bytes that may be written before the next look.
    private var credit: Int64 = 0
    /// The number of small bodies that may be committed before the next look at the pages.
    private var pagesCredit = 0

    /// The greatest number of bytes written between two looks.
    private static let longest: Int64 = 4 << 20
    /// The distance from the minimum of free space below which each write looks first: others write as well.
    private static let margin: Int64 = 256 << 20
    /// The number of commits between two checks of the pages, and the room for their rows. No commit adds more than 256 KiB to the index.
    private static let mostCommits = 16
    private static let room: Int64 = 8 << 20

    mutating func look(at paths: Paths, beforeWriting bytes: Int64, keepingFree minimum: Int64) {
        // Without credit, not even zero bytes are written before the first look.
        if credit > 0, bytes <= credit {
            credit -= bytes
            return
        }
        free = freeSpace(at: paths.root) ?? Int64.max / 2
        log = FileStatus(at: paths.log)?.allocated ?? 0
        credit = free - minimum > Self.margin + bytes ? Self.longest : 0
    }

    mutating func look(
        atPagesBeforeWriting bytes: Int64, _ count: () throws(StoreError) -> Pages
    ) throws(StoreError) {
        pagesCredit -= 1
        if pagesCredit < 0 || bytes > BlockMap.blockSize { pages = try count() }
    }

    /// Notes how much room there was at a look: the next look at the pages is later only if it is much.
    mutating func note(shortage: Int64) {
        if shortage > -Self.room { pagesCredit = 0 } else if pagesCredit < 0 { pagesCredit = Self.mostCommits }
    }

    mutating func forget() {
        credit = 0
        pagesCredit = 0
    }
}
