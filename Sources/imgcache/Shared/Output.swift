import FoundationEssentials
@preconcurrency import Glibc

/// Standard output and standard error, written whole and unbuffered.
///
/// A reader that is gone (EPIPE) ends the command as it ends every Unix filter; the bytes are not retried.
enum Output {
    static func line(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

    static func warning(_ text: String) { write("imgcache: warning: \(text)\n", to: STDERR_FILENO) }

    static func error(_ text: String) { write("imgcache: \(text)\n", to: STDERR_FILENO) }

    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { _ = write(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    /// False, with `errno` set, when not all of it could be written.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { write($0, to: descriptor) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
        return true
    }

    /// Ends the process without unwinding: everything is written by now, and running the tear-down of libraries that
    /// were only opened (OpenSSL's is slow) would buy nothing.
    static func exit(_ status: ExitStatus) -> Never { _exit(status.rawValue) }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The width of the terminal on `descriptor` in columns; `$COLUMNS`, then 80, when it does not say.
    static func width(of descriptor: Int32) -> Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        if let columns = getenv("COLUMNS").flatMap({ Int(String(cString: $0)) }), columns > 0 { return columns }
        return 80
    }
}

extension String {
    /// Without control characters: what a server or a file says must not drive the terminal.
    var forTerminal: String {
        guard unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) }) else {
            return self
        }
        return String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "\u{FFFD}" : $0 }))
    }
}
