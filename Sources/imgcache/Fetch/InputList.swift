import Glibc

/// The URLs of `-i/--input-file`: one a line, `-` for standard input; blank lines and `#` comments are skipped.
enum InputList {
    static func urls(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            var line = line.drop(while: \.isWhitespace)
            while let last = line.last, last.isWhitespace { line.removeLast() }
            return line.isEmpty || line.first == "#" ? nil : String(line)
        }
    }

    /// The text of `path`, or of standard input for `-`.
    static func read(_ path: String) throws -> String { String(decoding: try bytes(of: path), as: UTF8.self) }

    /// The bytes of `path`, or of standard input for `-`.
    static func bytes(of path: String) throws -> [UInt8] {
        BlockingSection.enter()
        defer { BlockingSection.leave() }
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(.usage, "\(path): \(errorText(errno))") }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        let chunk = 65_536
        while true {
            let count = bytes.count
            var received = 0
            bytes.append(contentsOf: repeatElement(0, count: chunk))
            repeat {
                received = bytes.withUnsafeMutableBytes {
                    Glibc.read(descriptor, $0.baseAddress?.advanced(by: count), chunk)
                }
            } while received < 0 && errno == EINTR
            guard received >= 0 else { throw Failure(.usage, "\(path): \(errorText(errno))") }
            bytes.removeLast(chunk - received)
            if received == 0 { break }
        }
        return bytes
    }
}
