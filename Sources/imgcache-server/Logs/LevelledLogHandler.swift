import ConcurrencyPrimitives
import HTTPSemantics
import ImageProxyAdmin
import Logging

/// Writes messages of the configured level and above to standard error: one level for all loggers, which a reload
/// changes. Credentials in URLs are masked, and so are characters that would control a terminal or add lines.
struct LevelledLogHandler: LogHandler {
    private var handler: StreamLogHandler
    private let level: Locked<Logger.Level>
    /// The level of this logger.
    private var own = Logger.Level.trace

    init(label: String, level: Locked<Logger.Level>) {
        handler = .standardError(label: label)
        handler.logLevel = .trace
        self.level = level
    }

    /// The configured level; a logger can only raise it.
    var logLevel: Logger.Level {
        get { max(own, level.withLock { $0 }) }
        set { own = newValue }
    }

    var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(Self.safe(event.message.description))"
        event.metadata = event.metadata?.mapValues(Self.masked)
        if let error = event.error { event.error = MaskedError(description: Self.safe("\(error)")) }
        handler.log(event: event)
    }

    private static func masked(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        switch value {
        case .string(let text): .string(Self.safe(text))
        case .stringConvertible(let value): .string(Self.safe(value.description))
        case .array(let values): .array(values.map(masked))
        case .dictionary(let values): .dictionary(values.mapValues(masked))
        @unknown default: value
        }
    }

    private static func safe(_ text: String) -> String { MaskedText.masked(text).withoutHiddenCharacters }

    /// The text of an error with secrets masked.
    private struct MaskedError: Error, CustomStringConvertible { let description: String }
}
