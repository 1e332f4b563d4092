/// A client that transfers response bodies from origins into sinks: the interface between the cache and the network.
///
/// `TransferEngine` is the default transport of a cache. A custom transport replaces it by another HTTP client, a
/// recording, or fixtures:
///
///     struct FixtureTransport: HTTPTransport {
///         let fixtures: [String: [UInt8]]
///
///         func run(
///             _ request: TransferRequest, into sink: any BodySink,
///             events: @escaping @Sendable (TransferEvent) -> Void
///         ) async throws(TransferError) -> TransferResult {
///             let bytes = fixtures[request.url]
///             let head = ResponseHead(
///                 status: bytes == nil ? .notFound : .ok, fields: [.cacheControl: "max-age=60"],
///                 finalURL: request.url, requestTime: Date(), responseTime: Date())
///             guard let bytes else { return TransferResult(head: head, outcome: .status) }
///             do {
///                 try sink.begin(head, .whole(length: Int64(bytes.count)))
///                 _ = try bytes.withUnsafeBytes { try sink.write($0) }
///                 try sink.end(.complete)
///             } catch {
///                 throw TransferError(.refusedBySink, url: request.url, "the body could not be stored", cause: error)
///             }
///             return TransferResult(head: head, outcome: .body, bytesReceived: Int64(bytes.count))
///         }
///     }
///
/// Requirements on a transport:
///
/// * It calls `BodySink` in the documented order, never concurrently, and never after ``run(_:into:events:)`` has returned.
/// * If the calling task is cancelled, `run` soon throws `TransferError.Code.cancelled`.
/// * It follows redirects up to ``TransferOptions/maxRedirects``. `ResponseHead.redirects` lists them.
/// * It sends `TransferRequest.conditions` only to the resource that they refer to.
///
/// Resuming a partial body (`BodySink.held()`), retries, priorities and limits are optional: a transport without them
/// starts each body at byte 0.
public protocol HTTPTransport: Sendable {
    /// Runs one transfer to its end.
    ///
    /// - Parameters:
    ///   - sink: Receives the body.
    ///   - events: Receives the transfer's progress, in order; must return immediately.
    /// - Returns: The final response, also for an error status; see `TransferResult.Outcome`.
    func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult

    /// Counts of all transfers so far. Default: zeros.
    var totals: TransferTotals { get }

    /// Ends all transfers with `TransferError.Code.cancelled` and releases the transport's resources; no transfer is started
    /// afterwards. Default: does nothing.
    func shutDown() async
}

extension HTTPTransport {
    public var totals: TransferTotals { TransferTotals() }

    public func shutDown() async {}

    /// Runs one transfer to its end without reporting its progress.
    public func run(
        _ request: TransferRequest, into sink: any BodySink
    ) async throws(TransferError) -> TransferResult {
        try await run(request, into: sink, events: { _ in })
    }
}

/// The controls of a running transfer, given to its sink (``BodySink/attach(_:)``).
///
/// Callable on any thread; no effect after the transfer has ended.
public protocol TransferControl: AnyObject, Sendable {
    /// Continues after the sink returned ``WriteResult/pause``. No effect if the transfer is not paused.
    func resume()

    /// Ends the transfer with ``TransferError/Code/cancelled``.
    func cancel()

    /// Changes the priority of a transfer that is still waiting.
    func prioritize(_ priority: TransferPriority)

    /// Stops reading from the network before the bytes at `offset` of the body, until it is called again with a larger offset. The piece that
    /// arrives at the offset may be passed on whole. Default: no effect.
    func pause(at offset: Int64)
}

extension TransferControl {
    public func pause(at offset: Int64) {}
}
