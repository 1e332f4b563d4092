import ArgumentParser

/// The exit codes of the command. With several URLs, the first failure determines it.
enum ExitStatus: Int32, Sendable, Encodable {
    case done = 0
    /// The command line is invalid.
    case usage = 2
    /// DNS, connect, TLS, time-out, or an interrupted transfer after all retries.
    case unreachable = 3
    /// The server responded with an error status.
    case serverError = 4
    /// The bytes are wrong: checksum, length, or an inconsistent range.
    case wrongBytes = 5
    /// The store failed: full, body too large for the capacity, not writable, damaged, not a cache; or the output
    /// cannot be written.
    case store = 6
    /// Not in the cache: offline, or for commands that only read the cache.
    case offline = 7
    /// Ctrl-C or SIGTERM.
    case interrupted = 130
    /// The reader of standard output is gone. The process ends by SIGPIPE, like other filters; shells report this number.
    case brokenPipe = 141
}

/// A failure that ends the command, with a sentence and an exit code.
struct Failure: Error, CustomStringConvertible {
    var status: ExitStatus
    var message: String
    /// See ``ErrorKind``; nil for the exit code's default.
    var kind: String?

    init(_ status: ExitStatus, _ message: String, kind: String? = nil) {
        self.status = status
        self.message = message
        self.kind = kind
    }

    var description: String { message }

    /// The error for an existing file.
    static func exists(_ path: String) -> Failure {
        Failure(.store, "\(path): the file exists; --force overwrites it", kind: "exists")
    }
}
