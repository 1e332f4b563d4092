import DiskStore
import FoundationEssentials
@preconcurrency import Glibc
import HTTPSemantics
import ImageCache

/// Standard output and standard error, written completely and unbuffered.
///
/// A failure to write to standard output ends the command, because a partial result must not be mistaken for a complete one. If the reader
/// is gone, the command ends by SIGPIPE without a message, like other filters.
enum Output {
    static func line(_ text: String) { result(Array((text + "\n").utf8)) }

    /// Writes to standard output.
    static func result(_ bytes: [UInt8]) {
        guard !write(bytes, to: STDOUT_FILENO) else { return }
        let failure = unwritable(errno)
        if failure.status != .brokenPipe { error(failure.message) }
        exit(failure.status)
    }

    /// True if an output of this name is standard output: `-`, `/dev/stdout`, or a link to it.
    static func isStandardOutput(_ name: String?) -> Bool {
        guard let name else { return false }
        return name == "-" || (try? ExportTarget(name)) == .descriptor(STDOUT_FILENO)
    }

    /// The failure for an error of standard output.
    static func unwritable(_ number: Int32) -> Failure {
        guard number != EPIPE else { return Failure(.brokenPipe, "the reader of standard output is gone") }
        let reason = number == EBADF ? "it is closed" : errorText(number)
        return Failure(.store, "cannot write to standard output: \(reason)")
    }

    /// Reserves the descriptors of standard input, output and error if they are closed, so that no file of the cache is
    /// opened as one of them. Using them still fails.
    static func holdStandardDescriptors() {
        for (descriptor, other) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF { _ = open("/dev/null", other) }
    }

    /// Writes a sentence to standard error, as ``Swift/String/forTerminal``.
    static func warning(_ text: String) { error("warning: \(text)") }

    /// Writes a sentence to standard error, as ``Swift/String/forTerminal``.
    static func error(_ text: String) { message("imgcache: \(text.forTerminal)\n") }

    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        jsonLine(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes a line of JSON. Hidden characters are escaped for terminals, which does not change the value.
    static func jsonLine(_ text: String) { line(text.withEscapedHiddenCharacters) }

    /// Writes to standard error. Failures are ignored.
    static func message(_ text: String) { write(text, to: STDERR_FILENO) }

    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// Returns false, with `errno` set, if not everything could be written.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        BlockingSection.enter()
        defer { BlockingSection.leave() }
        return bytes.withUnsafeBytes { write($0, to: descriptor) }
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

    /// Ends the process without unwinding. All output is written, and unloading libraries (slow in OpenSSL) is unnecessary.
    static func exit(_ status: ExitStatus) -> Never {
        if status == .brokenPipe {
            signal(SIGPIPE, SIG_DFL)
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            raise(SIGPIPE)
        }
        _exit(status.rawValue)
    }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The width of the terminal on `descriptor` in columns; otherwise `$COLUMNS`, otherwise 80.
    static func width(of descriptor: Int32) -> Int { size(of: descriptor, \.ws_col, variable: "COLUMNS") ?? 80 }

    /// The height of the terminal on `descriptor` in rows; otherwise `$LINES`, otherwise 24.
    static func height(of descriptor: Int32) -> Int { size(of: descriptor, \.ws_row, variable: "LINES") ?? 24 }

    private static func size(of descriptor: Int32, _ part: KeyPath<winsize, UInt16>, variable: String) -> Int? {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size[keyPath: part] > 0 { return Int(size[keyPath: part]) }
        return getenv(variable).flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
    }

    /// True if a terminal, by its `$TERM`, can move the cursor.
    static func movesCursor(term: String?) -> Bool { term != nil && term != "" && term != "dumb" }

    /// True if `descriptor` is the terminal of this process, and another process group has its foreground.
    static func isInBackground(of descriptor: Int32) -> Bool {
        isBackground(getpgrp(), foreground: tcgetpgrp(descriptor))
    }

    /// - Parameter foreground: The result of tcgetpgrp(3): -1 if it is not the terminal of this process, and 0 for a group of another
    ///   container.
    static func isBackground(_ group: pid_t, foreground: pid_t) -> Bool { foreground > 0 && foreground != group }
}

extension String {
    /// The text without control and hidden characters, so that servers and files cannot control the terminal.
    var forTerminal: String { withoutHiddenCharacters }
}

extension ImageCacheError {
    /// The `errno` value of a failed write to standard output. An error of a file in the store has its path.
    var outputError: Int32? { (cause as? StoreError).flatMap { $0.path == nil ? $0.errno : nil } }
}

extension BinaryInteger {
    /// The number and what it counts, in the singular or the plural.
    func counted(_ one: String, _ several: String) -> String { "\(self) \(self == 1 ? one : several)" }
}
