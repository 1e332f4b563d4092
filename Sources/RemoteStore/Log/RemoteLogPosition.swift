/// An entry of the log that all machines append to and read: objects with ascending numbers, and one small object that changes with each new
/// one (``RemoteBell``).
package struct RemoteLogPosition: Sendable, Hashable {
    private static let entryBits = 40

    /// A random number that tells this log from one that was begun anew.
    package let log: UInt32
    /// Counted from 1.
    package var entry: Int64

    package init(log: UInt32, entry: Int64) {
        self.log = log
        self.entry = entry
    }

    /// The position before the first entry of a new log.
    package static func beginning(_ log: UInt32 = .random(in: 1..<1 << 23)) -> Self { Self(log: log, entry: 0) }

    /// The name of the entry's object.
    package var name: String { "v1/news/\(String(log, radix: 16))/\(entry)" }

    /// Both as one positive number.
    package var number: Int64 { Int64(log) << Self.entryBits | entry }

    /// `nil` for a number that is no position's.
    package init?(number: Int64) {
        guard number > 0, let log = UInt32(exactly: number >> Self.entryBits), log > 0 else { return nil }
        self.init(log: log, entry: number & (1 << Self.entryBits - 1))
    }

    /// `nil` for numbers that are no position's.
    init?(log: UInt32, checked entry: Int64) {
        guard (1..<1 << 23).contains(log), (0..<1 << Self.entryBits).contains(entry) else { return nil }
        self.init(log: log, entry: entry)
    }

    /// The entry behind this one.
    package var next: RemoteLogPosition { RemoteLogPosition(log: log, entry: entry + 1) }

    /// True if who has read to here has read an entry.
    package func reaches(_ other: RemoteLogPosition) -> Bool { log == other.log && entry >= other.entry }
}
