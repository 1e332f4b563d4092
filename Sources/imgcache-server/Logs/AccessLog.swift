import CLinux
import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageProxyAdmin
import NIOPosix

/// The access log: one JSON object per line and request. A separate thread writes it, so that a slow reader or a full disk does not delay
/// requests. If the thread falls too far behind, lines are dropped, and their number is logged afterwards.
///
/// The file is reopened for every batch, so that rotation needs no signal.
final class AccessLog: Sendable {
    enum Destination: Sendable, Hashable {
        case off
        case standardOutput
        case file(String)
    }

    private struct State {
        var backlog = LogBacklog()
        var isWriting = false
        /// The time at which the log stops waiting for its reader.
        var end: ContinuousClock.Instant?
    }

    /// The number of bytes that may wait to be written.
    private static let longestBacklog = 8 << 20
    /// Microseconds between two batches.
    private static let pause: UInt32 = 50_000

    private let state = Locked(State())
    private let destination: Destination
    private let thread: NIOThreadPool?

    /// The reason why the log's file cannot be written.
    struct OpeningError: Error {
        let path: String
        let reason: String
    }

    init(_ destination: Destination) throws(OpeningError) {
        self.destination = destination
        guard destination != .off else {
            thread = nil
            return
        }
        if case .file(let path) = destination {
            let descriptor = Self.open(path)
            let reason = errno
            guard descriptor >= 0 || reason == ENXIO && Self.isPipe(path) else {
                throw OpeningError(path: path, reason: String(cString: strerror(reason)))
            }
            if descriptor >= 0 { close(descriptor) }
        }
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        thread = pool
    }

    /// The number of lines that were lost since the last one that says so.
    var leftOut: Int { state.withLock { $0.backlog.leftOut } }

    /// True if the log is enabled.
    var isOn: Bool { thread != nil }

    func record(_ record: RequestRecord, at now: Date = Date()) {
        guard let thread else { return }
        let line = record.line(at: now)
        let mustStart = state.withLock { state in
            guard state.backlog.add(line, upTo: Self.longestBacklog) else { return false }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { thread.submit { [weak self] _ in self?.writeBatches(after: Self.pause) } }
    }

    /// Writes the waiting records, and ends the thread. Lines that a slow reader has not taken at the given time are lost.
    func end(by time: ContinuousClock.Instant) async {
        guard let thread else { return }
        state.withLock { $0.end = time }
        try? await thread.runIfActive { [self] in writeBatches(after: 0) }
        try? await thread.shutdownGracefully()
    }

    /// Writes until no records wait. Runs on the log's thread.
    private func writeBatches(after pause: UInt32) {
        while true {
            usleep(pause)
            let batch = state.withLock { state in
                let batch = state.backlog.take()
                state.isWriting = !batch.bytes.isEmpty
                return batch
            }
            guard !batch.bytes.isEmpty else { return }
            let written = write(batch.bytes)
            let isOver = state.withLock { state in
                state.backlog.note(written, of: batch)
                // If something was lost, the next record tries again.
                state.isWriting = written == batch.bytes.count
                return !state.isWriting
            }
            if isOver { return }
        }
    }

    /// Returns the number of bytes that were written.
    private func write(_ bytes: [UInt8]) -> Int {
        let descriptor: Int32
        switch destination {
        case .off: return bytes.count
        case .standardOutput: descriptor = 1
        case .file(let path): descriptor = Self.open(path)
        }
        guard descriptor >= 0 else { return 0 }
        defer { if descriptor != 1 { close(descriptor) } }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        // A pipe that can be written has room for so many bytes (pipe(7), PIPE_BUF).
        let most = isFile ? bytes.count : 4096
        return bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                guard waitUntilWritable(descriptor) else { break }
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(most))
                let count = Glibc.write(descriptor, part.baseAddress, part.count)
                // Another writer may have filled the pipe meanwhile.
                if count < 0, errno == EINTR || errno == EAGAIN { continue }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            return rest.startIndex
        }
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

    /// Opens the log's file, without waiting for the reader of a named pipe: without one, the lines are lost.
    private static func open(_ path: String) -> Int32 {
        clinux_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0o640)
    }

    private static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }
}

extension RequestRecord {
    /// The record as a JSON object.
    func line(at now: Date) -> [UInt8] {
        var line = JSONLine(reserving: 512)
        line.add("time", TimeText.text(of: now))
        line.add("client", request.client.description)
        if request.peer != request.client { line.add("peer", request.peer.description) }
        let head = isMalformed ? nil : request.head
        if let head {
            line.add("method", head.method.rawValue)
            line.add("target", MaskedText.masked(head.targetText))
            line.add("version", "1.\(head.minorVersion)")
        }
        line.add("status", status)
        line.add("cache", outcome ?? "none")
        line.add("bytes", bytesSent)
        line.add("wait_ms", milliseconds: timeToResponse)
        line.add("ms", milliseconds: duration)
        line.add("id", request.id)
        if let traceParent = head?.fields[.traceParent] { line.add("traceparent", traceParent) }
        if let userAgent = head?.fields[.userAgent] { line.add("agent", MaskedText.masked(userAgent)) }
        if isCutShort { line.add("cut_short", true) }
        if let error { line.add("error", error) }
        if let detail { line.add("detail", MaskedText.masked(detail)) }
        return line.finished()
    }
}
