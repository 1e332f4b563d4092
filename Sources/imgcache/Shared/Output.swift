import FoundationEssentials
@preconcurrency import Glibc

/// Standard output and standard error, written whole and unbuffered.
///
/// Standard output that cannot be written ends the command: nobody must take half a result for all of it. A reader that is
/// gone ends it as it ends every Unix filter, by SIGPIPE and without a word.
enum Output {
    static func line(_ text: String) { result(Array((text + "\n").utf8)) }

    /// Writes to standard output.
    static func result(_ bytes: [UInt8]) {
        guard !write(bytes, to: STDOUT_FILENO) else { return }
        let failure = unwritable(errno)
        if failure.status != .brokenPipe { error(failure.message) }
        exit(failure.status)
    }

    /// What it means that standard output cannot be written.
    static func unwritable(_ number: Int32) -> Failure {
        guard number != EPIPE else { return Failure(.brokenPipe, "the reader of standard output is gone") }
        let reason = number == EBADF ? "it is closed" : errorText(number)
        return Failure(.store, "cannot write to standard output: \(reason)")
    }

    /// Gives standard input, output and error a place where they are closed, so that no file of the cache is opened as one
    /// of them and printed into. Using them still fails.
    static func holdStandardDescriptors() {
        for (descriptor, other) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF { _ = open("/dev/null", other) }
    }

    static func warning(_ text: String) { message("imgcache: warning: \(text)\n") }

    static func error(_ text: String) { message("imgcache: \(text)\n") }

    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes to standard error. Where that fails, there is nobody to tell.
    static func message(_ text: String) { write(text, to: STDERR_FILENO) }

    static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    /// False, with `errno` set, when not all of it could be written.
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

    /// Ends the process without unwinding: everything is written by now, and running the tear-down of libraries that
    /// were only opened (OpenSSL's is slow) would buy nothing.
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
