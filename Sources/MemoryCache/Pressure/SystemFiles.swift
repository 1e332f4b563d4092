import CLinux
import Glibc

/// The kernel's files below `/proc` and `/sys`, or substitutes below another root.
struct SystemFiles: Sendable {
    /// The prefix of each path; empty for the real files.
    var root = ""

    /// A file's text; nil if it cannot be read.
    func text(_ path: String) -> String? {
        let descriptor = clinux_open(root + path, O_RDONLY, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            var got = 0
            let part = [UInt8](unsafeUninitializedCapacity: 8192) { buffer, count in
                got = read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, got)
            }
            if got < 0 { return nil }
            if got == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += part
        }
    }

    /// The number in a file; nil if it cannot be read, or contains a word (`max`).
    func number(_ path: String) -> Int64? {
        text(path).flatMap { Int64($0.prefix { $0 != "\n" }) }
    }

    /// The number after `name` in a file of lines `name number`, with or without a colon and a unit.
    static func field(_ name: String, in text: String) -> Int64? {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 2, words[0] == name || words[0] == name + ":" else { continue }
            return Int64(words[1])
        }
        return nil
    }
}
