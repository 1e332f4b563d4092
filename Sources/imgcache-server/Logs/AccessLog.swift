import FoundationEssentials
import Glibc
import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageProxyAdmin

/// The access log: one JSON object per line and request (``LogWriter``).
final class AccessLog: Sendable {
    enum Destination: Sendable, Hashable {
        case off
        case standardOutput
        case file(String)
    }

    /// The number of bytes that may wait to be written.
    private static let longestBacklog = 8 << 20
    /// Microseconds between two batches.
    private static let pause: UInt32 = 50_000

    /// nil if the log is disabled.
    private let writer: LogWriter?

    /// The reason why the log's file cannot be written.
    struct OpeningError: Error {
        let path: String
        let reason: String
    }

    init(_ destination: Destination) throws(OpeningError) {
        let target: LogWriter.Target
        switch destination {
        case .off:
            writer = nil
            return
        case .standardOutput: target = .descriptor(STDOUT_FILENO)
        case .file(let path):
            let descriptor = LogWriter.open(path)
            let reason = errno
            guard descriptor >= 0 || reason == ENXIO && Self.isPipe(path) else {
                throw OpeningError(path: path, reason: String(cString: strerror(reason)))
            }
            if descriptor >= 0 { close(descriptor) }
            target = .file(path)
        }
        writer = LogWriter(target, limit: Self.longestBacklog, pause: Self.pause, note: LogBacklog.lineAboutLost)
    }

    /// The number of lines that were lost since the last one that says so.
    var leftOut: Int { writer?.leftOut ?? 0 }

    /// True if the log is enabled.
    var isOn: Bool { writer != nil }

    func record(_ record: RequestRecord, at now: Date = Date()) { writer?.add(record.line(at: now)) }

    /// Writes the waiting records. Lines that a slow reader has not taken at the given time are lost.
    func end(by time: ContinuousClock.Instant) async { await writer?.end(by: time) }

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
