import HTTPSemantics
import HTTPTypes

/// Collects response heads from libcurl's header callback, which passes one raw line at a time: the lines of interim responses, of redirects and of
/// the final response, and after the body its trailers.
///
/// Without I/O. The sizes are limited, because an origin may send heads without end.
struct HeadCollector {
    enum Progress: Equatable {
        case more
        /// An interim head (1xx, RFC 9110 section 15.2) is complete.
        case interim(status: Int, HTTPFields)
        /// A head that is not interim is complete.
        case complete(status: Int)
        /// A limit was exceeded. The text is the reason.
        case violation(String)
    }

    /// The limit of one head, in bytes. nginx and Apache accept 8 to 32 KiB from clients, browsers accept 256 KiB from servers.
    static let maxHeadBytes = 256 * 1024
    static let maxFields = 1000
    /// The limit of interim responses (1xx, RFC 9110 section 15.2) before one final response.
    static let maxInterim = 32

    private(set) var bytes: [UInt8] = []
    private(set) var status = 0
    private(set) var isComplete = false
    private var lines = 0
    private var interim = 0
    private var trailerBytes = 0
    private var trailerLines = 0

    mutating func append(_ line: UnsafeRawBufferPointer) -> Progress {
        if RawHead.isStatusLine(line) {
            bytes.removeAll(keepingCapacity: true)
            lines = 0
            isComplete = false
            status = Self.status(of: line)
        }
        guard !isComplete else { return appendTrailer(line) }
        lines += 1
        guard bytes.count + line.count <= Self.maxHeadBytes, lines <= Self.maxFields else {
            return .violation("the response head has no end (more than \(bytes.count) bytes, \(lines - 1) lines)")
        }
        bytes.append(contentsOf: line)
        guard line.count <= 2, line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) else { return .more }
        if (100..<200).contains(status) {
            interim += 1
            guard interim <= Self.maxInterim else { return .violation("interim responses without end") }
            defer { bytes.removeAll(keepingCapacity: true) }
            return .interim(status: status, parsed().fields)
        }
        isComplete = true
        interim = 0
        return .complete(status: status)
    }

    /// Counts a line that follows the body (RFC 9110 section 6.5). Nothing reads trailers, but libcurl keeps them.
    mutating func appendTrailer(_ line: UnsafeRawBufferPointer) -> Progress {
        trailerBytes += line.count
        trailerLines += 1
        guard trailerBytes <= Self.maxHeadBytes, trailerLines <= Self.maxFields else {
            return .violation("the trailers have no end (more than \(trailerBytes) bytes, \(trailerLines - 1) lines)")
        }
        return .more
    }

    mutating func reset() {
        (trailerBytes, trailerLines) = (0, 0)
        bytes.removeAll(keepingCapacity: true)
        status = 0
        lines = 0
        interim = 0
        isComplete = false
    }

    /// The protocol version and the fields.
    func parsed() -> (version: String, fields: HTTPFields) {
        bytes.withUnsafeBytes { RawHead.parse($0) }
    }

    private static func status(of line: UnsafeRawBufferPointer) -> Int {
        guard let blank = line.firstIndex(of: 0x20) else { return 0 }
        let digits = line[(blank + 1)...].prefix(3)
        // No sign is accepted: HTTPTypes traps on an invalid status.
        return digits.count == 3 ? Int64(digits: digits).map { Int($0) } ?? 0 : 0
    }
}
