/// An entry of the log that all machines append to and read: objects with ascending numbers, and one small object, the bell, that changes
/// with each new one.
package struct RemoteLogPosition: Sendable, Hashable {
    /// The name of the bell, which contains the position of a late entry: it may lag behind the last one.
    package static let bellName = "v1/bell"
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

    /// The content of the bell: never the same twice, so that no change of it goes unseen.
    package func bell(salt: UInt64 = .random(in: 0 ... .max)) -> [UInt8] {
        Array("\(log) \(entry) \(String(salt, radix: 16))".utf8)
    }

    /// `nil` for bytes that are no bell's.
    package init?(bell bytes: [UInt8]) {
        let words = String(decoding: bytes.prefix(100), as: UTF8.self).split(separator: " ")
        guard words.count == 3, let log = UInt32(words[0]), (1..<1 << 23).contains(log), let entry = Int64(words[1]),
            (0..<1 << Self.entryBits).contains(entry)
        else { return nil }
        self.init(log: log, entry: entry)
    }
}
