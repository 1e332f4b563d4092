import ArgumentParser

/// The exit codes of the command. With several URLs the first that failed decides.
enum ExitStatus: Int32, Sendable {
    case done = 0
    /// The command line is wrong.
    case usage = 2
    /// DNS, connect, TLS, time-out, or a cut with all retries used up.
    case unreachable = 3
    /// The server answered with an error status.
    case serverError = 4
    /// The bytes are wrong: checksum, length, or a splice that was refused.
    case wrongBytes = 5
    /// The store cannot: full, body too large for the capacity, not writable, damaged.
    case store = 6
    /// Offline, and not in the cache.
    case offline = 7
    /// Ctrl-C or SIGTERM.
    case interrupted = 130
}

/// A failure that ends the command: one sentence and an exit code.
struct Failure: Error, CustomStringConvertible {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    var description: String { message }

    /// What is in the way of a result.
    static func exists(_ path: String) -> Failure { Failure(.store, "\(path): the file exists; --force overwrites it") }
}
