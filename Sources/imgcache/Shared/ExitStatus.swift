import ArgumentParser

/// The exit codes of the command. With several URLs the first that failed decides.
enum ExitStatus: Int32, Sendable, Encodable {
    case done = 0
    /// The command line is wrong.
    case usage = 2
    /// DNS, connect, TLS, time-out, or a cut with all retries used up.
    case unreachable = 3
    /// The server answered with an error status.
    case serverError = 4
    /// The bytes are wrong: checksum, length, or a splice that was refused.
    case wrongBytes = 5
    /// The store cannot: full, body too large for the capacity, not writable, damaged, not a cache; or what was got
    /// cannot be written to where it should go.
    case store = 6
    /// Not in the cache: offline, or where only the cache is looked into.
    case offline = 7
    /// Ctrl-C or SIGTERM.
    case interrupted = 130
    /// Whoever read standard output is gone. Ends by the signal, as every filter; shells show it as this number.
    case brokenPipe = 141
}

/// A failure that ends the command: one sentence and an exit code.
struct Failure: Error, CustomStringConvertible {
    var status: ExitStatus
    var message: String
    /// See ``ErrorKind``; nil: the exit code's own.
    var kind: String?

    init(_ status: ExitStatus, _ message: String, kind: String? = nil) {
        self.status = status
        self.message = message
        self.kind = kind
    }

    var description: String { message }

    /// What is in the way of a result.
    static func exists(_ path: String) -> Failure {
        Failure(.store, "\(path): the file exists; --force overwrites it", kind: "exists")
    }
}
