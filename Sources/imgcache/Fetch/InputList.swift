import Digests
import Glibc

/// The URLs of `-i/--input-file`: one per line, `-` for standard input. Blank lines, `#` comments and a byte order
/// mark are skipped.
enum InputList {
    static func urls(in text: String) -> [String] {
        let text = text.first == "\u{FEFF}" ? text.dropFirst() : text[...]
        return text.split(whereSeparator: \.isNewline).compactMap { line in
            var line = line.drop(while: \.isWhitespace)
            while let last = line.last, last.isWhitespace { line.removeLast() }
            return line.isEmpty || line.first == "#" ? nil : String(line)
        }
    }

    /// The text of `path`, or of standard input for `-`.
    static func read(_ path: String) throws -> String { String(decoding: try bytes(of: path), as: UTF8.self) }

    /// The bytes of `path`, or of standard input for `-`.
    ///
    /// - Parameter limit: The size limit in bytes.
    /// - Throws: ``Failure`` with exit code 2.
    static func bytes(of path: String, limit: Int = 256 << 20) throws -> [UInt8] {
        BlockingSection.enter()
        defer { BlockingSection.leave() }
        do throws(LimitedFile.Failure) {
            guard path != "-" else { return try LimitedFile.bytes(from: STDIN_FILENO, limit: limit) }
            return try LimitedFile.bytes(of: path, limit: limit, isRegular: false)
        } catch {
            throw Failure(.usage, "\(path): \(error)")
        }
    }
}
