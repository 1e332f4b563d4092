import ConcurrencyPrimitives

/// A step of a scripted origin's response.
public enum OriginStep: Sendable {
    /// Sends these bytes as they are; they do not count as body.
    case raw(String)
    /// Sends a status line and these fields, and an empty line. Nothing is added.
    case head(status: Int, fields: [(name: String, value: String)])
    /// Sends these bytes and counts them as body.
    case body([UInt8])
    /// Sends a stretch of generated content and counts it as body.
    case content(Content, Range<Int64>)
    /// The same in chunked coding, without the last chunk.
    case chunks(Content, Range<Int64>, chunkSize: Int64)
    /// From here on at most so many bytes a second (nil: no limit), at an even rate and never ahead of the client's reading.
    case throttle(bytesPerSecond: Int64?)
    /// Sends nothing for so long.
    case pause(milliseconds: Int)
    /// Sends nothing until the gate is opened or the client has gone.
    case wait(for: Gate)
    /// Sends nothing more until the client has gone or the origin is stopped.
    case stall
    /// Closes the connection: in the orderly way, or by a reset after what was sent has been acknowledged.
    case cut(reset: Bool)
    /// Calls this on the connection's thread.
    case perform(@Sendable () -> Void)
}

/// Holds an origin's answer back until a test opens it.
public final class Gate: Sendable {
    private let opened = Locked(false)

    public init() {}

    public func open() { opened.withLock { $0 = true } }

    public var isOpen: Bool { opened.withLock { $0 } }
}
