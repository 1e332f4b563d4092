import Locking
import Logging

/// Writes to standard error what is at least as important as the configuration says now: one level for all loggers, which a
/// reload changes.
struct LevelledLogHandler: LogHandler {
    private var handler: StreamLogHandler
    private let level: Locked<Logger.Level>
    /// The least that this logger itself wants to say.
    private var own = Logger.Level.trace

    init(label: String, level: Locked<Logger.Level>) {
        handler = .standardError(label: label)
        handler.logLevel = .trace
        self.level = level
    }

    /// The configuration's; a logger can be told to say less, not more.
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

    func log(event: LogEvent) { handler.log(event: event) }
}
