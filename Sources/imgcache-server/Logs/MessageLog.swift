import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import HTTPSemantics
import ImageProxyAdmin
import Logging

/// The form of the messages on standard error.
enum MessageFormat: String, CaseIterable, Sendable {
    /// `2026-11-21T17:35:16.971Z warning: an origin is left alone after failures (failures=8, origin=photos)`
    case text
    /// An object a line: `time`, `level`, `message`, `logger`, and the message's other values in `data`.
    case json
}

/// Writes messages of the configured level and above to standard error: one level and format for all loggers, which a reload changes.
/// Credentials in URLs are masked, and so are characters that would control a terminal or add lines. Messages beyond a backlog of 1 MiB are
/// dropped and counted (``LogWriter``).
struct MessageLog: LogHandler {
    struct Options: Sendable {
        var level: Logger.Level
        var format: MessageFormat
    }

    private let label: String
    private let options: Locked<Options>
    private let writer: LogWriter
    /// The level of this logger.
    private var own = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(label: String, options: Locked<Options>, _ writer: LogWriter) {
        self.label = label
        self.options = options
        self.writer = writer
    }

    /// The writer of the messages of all loggers.
    static func writer(
        to target: LogWriter.Target = .descriptor(STDERR_FILENO), _ options: Locked<Options>, limit: Int = 1 << 20
    ) -> LogWriter {
        LogWriter(target, limit: limit) { count in
            line(
                at: Date(), .warning, "messages were lost because standard error was not read",
                ["messages": "\(count)"], from: "imgcache-server", as: options.withLock { $0.format })
        }
    }

    /// The configured level; a logger can only raise it.
    var logLevel: Logger.Level {
        get { max(own, options.withLock { $0.level }) }
        set { own = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var data = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues(Self.text)
        if let error = event.error { data["error"] = Self.safe("\(error)") }
        writer.add(
            Self.line(
                at: Date(), event.level, Self.safe(event.message.description), data, from: label,
                as: options.withLock { $0.format }))
    }

    /// A message without its line end.
    static func line(
        at date: Date, _ level: Logger.Level, _ message: String, _ data: [String: String], from label: String,
        as format: MessageFormat
    ) -> [UInt8] {
        let time = TimeText.text(of: date)
        switch format {
        case .text:
            let values = data.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
            return Array("\(time) \(level.rawValue): \(message)\(values.isEmpty ? "" : " (\(values))")".utf8)
        case .json:
            struct Line: Encodable {
                var time, level, message, logger: String
                var data: [String: String]?
            }
            let line = Line(
                time: time, level: level.rawValue, message: message, logger: label, data: data.isEmpty ? nil : data)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return (try? Array(encoder.encode(line))) ?? []
        }
    }

    private static func text(_ value: Logger.MetadataValue) -> String { safe(value.description) }

    static func safe(_ text: String) -> String { MaskedText.masked(text).withoutHiddenCharacters }
}
