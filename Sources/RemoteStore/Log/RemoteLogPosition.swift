/// The position of an entry in the log that all machines append to and read. The log consists of objects with ascending numbers, and of one
/// small object that changes with each new entry (``LogHead``).
package struct RemoteLogPosition: Sendable, Hashable {
    private static let entryBits = 40

    /// A random number that distinguishes this log from an earlier or later one.
    package let log: UInt32
    /// The number of the entry, counted from 1.
    package var entry: Int64

    package init(log: UInt32, entry: Int64) {
        self.log = log
        self.entry = entry
    }

    /// The position before the first entry of a new log.
    package static func beginning(_ log: UInt32 = .random(in: 1..<1 << 23)) -> Self { Self(log: log, entry: 0) }

    /// The key of the entry's object.
    package var name: String { "v1/news/\(String(log, radix: 16))/\(entry)" }

    /// The log and the entry as one positive number.
    package var number: Int64 { Int64(log) << Self.entryBits | entry }

    /// Returns `nil` if the number is not a valid position.
    package init?(number: Int64) {
        guard number > 0, let log = UInt32(exactly: number >> Self.entryBits), log > 0 else { return nil }
        self.init(log: log, entry: number & (1 << Self.entryBits - 1))
    }

    /// Returns `nil` if the numbers are not a valid position.
    init?(log: UInt32, checked entry: Int64) {
        guard (1..<1 << 23).contains(log), (0..<1 << Self.entryBits).contains(entry) else { return nil }
        self.init(log: log, entry: entry)
    }

    /// The position of the following entry.
    package var next: RemoteLogPosition { RemoteLogPosition(log: log, entry: entry + 1) }

    /// True if a reader at this position has read the entry at `other`.
    package func reaches(_ other: RemoteLogPosition) -> Bool { log == other.log && entry >= other.entry }
}
