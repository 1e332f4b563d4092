/// The content of the log head, a small object that changes with each new entry of the log.
package struct LogHead: Sendable, Hashable {
    /// The key of the object.
    package static let name = "v1/bell"
    private static let end = UInt8(ascii: "\n")
    /// The greatest length of the position in bytes.
    private static let maxLength = 100

    /// The position of a recent entry. The log head may lag behind the last one.
    package var position: RemoteLogPosition
    /// The summary of the entries up to the position, or nil if it is unknown.
    package var summary: [UInt8]?

    package init(_ position: RemoteLogPosition, summary: [UInt8]?) {
        self.position = position
        self.summary = summary
    }

    /// The encoded object. A random salt makes it unique, so that every update changes the object's tag.
    package func encoded(salt: UInt64 = .random(in: 0 ... .max)) -> [UInt8] {
        let text = "\(position.log) \(position.entry) \(String(salt, radix: 16))"
        return Array(text.utf8) + (summary.map { [Self.end] + $0 } ?? [])
    }

    /// Returns `nil` if the bytes are not a log head.
    package init?(_ bytes: [UInt8]) {
        let line = bytes.prefix(Self.maxLength).prefix { $0 != Self.end }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count == 3, let log = UInt32(words[0]), let entry = Int64(words[1]),
            let position = RemoteLogPosition(log: log, checked: entry)
        else { return nil }
        let rest = bytes.dropFirst(line.count)
        self.init(position, summary: rest.first == Self.end ? Array(rest.dropFirst()) : nil)
    }
}
