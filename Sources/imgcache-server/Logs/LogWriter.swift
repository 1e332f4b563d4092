import CLinux
import ConcurrencyPrimitives
import Glibc
import NIOPosix

/// Writes the lines of a log on a thread of its own, so that a slow reader or a full disk does not delay those who log. If the thread falls
/// too far behind, lines are dropped, and their number is logged afterwards.
///
/// A file is reopened for every batch, so that rotation needs no signal.
final class LogWriter: Sendable {
    enum Target: Sendable {
        case descriptor(Int32)
        case file(String)
    }

    private struct State {
        var backlog = LogBacklog()
        var isWriting = false
        /// The time at which the log stops waiting for its reader.
        var end: ContinuousClock.Instant?
    }

    private let state = Locked(State())
    private let target: Target
    /// The pipe of a descriptor, opened once more; nil for other targets.
    private let pipe: Int32?
    private let limit: Int
    private let pause: UInt32
    private let note: @Sendable (Int) -> [UInt8]
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// - Parameters:
    ///   - limit: The number of bytes that may wait to be written.
    ///   - pause: The microseconds before each batch.
    ///   - note: The line that says how many lines were lost, without its end.
    init(_ target: Target, limit: Int, pause: UInt32 = 0, note: @escaping @Sendable (Int) -> [UInt8]) {
        self.target = target
        if case .descriptor(let number) = target { pipe = Self.openedPipe(number) } else { pipe = nil }
        self.limit = limit
        self.pause = pause
        self.note = note
        thread.start()
    }

    deinit {
        if let pipe { close(pipe) }
    }

    /// The number of lines that were lost since the last one that says so.
    var leftOut: Int { state.withLock { $0.backlog.leftOut } }

    /// Adds a line, without its end.
    func add(_ line: [UInt8]) {
        let mustStart = state.withLock { state in
            // A full backlog must also start the thread: it waits after a write that failed.
            _ = state.backlog.add(line, upTo: limit)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { thread.submit { [weak self, pause] _ in self?.writeBatches(after: pause) } }
    }

    /// Writes the waiting lines, and ends the thread. Lines that a slow reader has not taken at the given time are lost. Later lines are written
    /// by their callers, if the reader takes them at once.
    func end(by time: ContinuousClock.Instant) async {
        state.withLock { $0.end = time }
        try? await thread.runIfActive { [self] in writeBatches(after: 0) }
        try? await thread.shutdownGracefully()
    }

    /// Writes until no lines wait. Runs on the log's thread.
    private func writeBatches(after pause: UInt32) {
        while true {
            usleep(pause)
            let batch = state.withLock { state in
                let batch = state.backlog.take(note)
                state.isWriting = !batch.bytes.isEmpty
                return batch
            }
            guard !batch.bytes.isEmpty else { return }
            let written = write(batch.bytes)
            let isOver = state.withLock { state in
                state.backlog.note(written, of: batch)
                // If something was lost, the next line tries again.
                state.isWriting = written == batch.bytes.count
                return !state.isWriting
            }
            if isOver { return }
        }
    }

    /// Returns the number of bytes that were written.
    private func write(_ bytes: [UInt8]) -> Int {
        let descriptor: Int32
        switch target {
        case .descriptor(let number): descriptor = pipe ?? number
        case .file(let path): descriptor = Self.open(path)
        }
        guard descriptor >= 0 else { return 0 }
        defer { if case .file = target { close(descriptor) } }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        var rest = bytes[...]
        while !rest.isEmpty {
            guard waitUntilWritable(descriptor) else { break }
            let part = isFile ? rest : LogBacklog.piece(of: rest)
            let count = part.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            // Another writer may have filled the pipe meanwhile.
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return rest.startIndex
    }

    /// Waits for the reader of a pipe; false if it has taken nothing until the log's end.
    private func waitUntilWritable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let isOver = state.withLock { $0.end.map { $0 <= .now } ?? false }
            let count = poll(&entry, 1, isOver ? 0 : 100)
            if count > 0 || count < 0 && errno != EINTR { return true }
            if isOver { return false }
        }
    }

    /// Opens a log's file, without waiting for the reader of a named pipe: without one, the lines are lost.
    static func open(_ path: String) -> Int32 {
        clinux_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0o640)
    }

    /// Opens the pipe of a descriptor once more, so that no write waits for the reader: another writer may fill the pipe at any time. The
    /// descriptor itself is shared with other programs. nil if it has no pipe, or one that this process may not open.
    private static func openedPipe(_ descriptor: Int32) -> Int32? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
        let pipe = clinux_open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK, 0)
        return pipe >= 0 ? pipe : nil
    }
}
