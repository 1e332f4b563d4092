import CLibcurl
import ConcurrencyPrimitives
public import FoundationEssentials
public import HTTPSemantics
import Synchronization

/// Transfers bodies with libcurl: one multi handle on a dedicated thread, which starts with the first transfer.
///
/// Connections are reused, HTTP/2 is multiplexed, DNS answers and TLS sessions are shared between transfers. Redirects
/// are followed to http and https only, and at most 64 KiB of their bodies are read. libcurl is opened when the first transfer needs it.
public final class TransferEngine: HTTPTransport {
    /// Limits of the transfers that run at the same time.
    public struct Configuration: Sendable {
        /// The number of concurrent transfers; default 64. Others wait, in order of ``TransferRequest/priority``, then
        /// of arrival.
        public var maxTransfers = 64
        /// The number of concurrent connections to one origin (scheme, host and port); default 16.
        ///
        /// The limit begins with ``initialPerHost`` and grows as long as more transfers increase the total rate. It falls if the origin responds
        /// 429 or 503, or if its responses take much longer to begin.
        public var maxPerHost = 16
        /// True to adapt the number of transfers from one origin to its responses; default true. Otherwise the number is always ``maxPerHost``,
        /// regardless of the connections.
        public var adaptsToHosts = true
        /// The number of connections to one origin at first; default 6, as in browsers.
        public var initialPerHost = 6
        /// The number of concurrent transfers on one multiplexed connection (HTTP/2); default 100, and never more than the origin allows.
        public var maxStreams = 100
        /// The number of connections that are kept for later transfers; default ``maxTransfers``, at least 16.
        public var maxIdleConnections: Int?
        /// The number of concurrent transfers for one ``TransferRequest/client``; default: no separate limit.
        public var maxPerClient: Int?
        /// The number of requests to one origin that begin within a second, evenly spread; default: no limit. Redirects and attempts are counted.
        /// Requests that follow immediately, such as those after redirects, are not delayed: they delay the next transfer.
        public var maxRequestsPerSecond: Double?
        /// Another limit of the transfers with one origin, shared with other engines; default: none.
        public var sharedHostLimit: (any SharedHostLimit)?
        /// The way to connect to hosts; default: the system's.
        public var connections = ConnectionOptions()
        /// The addresses that may be connected to; default: any.
        public var addressPolicy = AddressPolicy.any
        /// The query parameters that are ignored when final URLs are compared; default ``SignatureParameters/known``.
        public var signatures = SignatureParameters.known
        /// A source of uniformly distributed numbers in 0 ..< 1, for the jitter of retries.
        public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The wall clock of ``ResponseHead/requestTime`` and ``ResponseHead/responseTime``.
        public var now: @Sendable () -> Date = { Date() }

        public init() {}

        var concurrencyLimits: HostConcurrency.Limits? {
            guard adaptsToHosts else { return nil }
            return HostConcurrency.Limits(
                initial: initialPerHost, connections: maxPerHost, streams: min(maxStreams, maxTransfers))
        }
    }

    private let mailbox: Mailbox

    public init(configuration: Configuration = Configuration()) {
        mailbox = Mailbox(configuration: configuration)
    }

    deinit { mailbox.stop() }

    /// Runs one transfer to its end. `sink` and `events` are not called after `run` has returned.
    ///
    /// The calling task calls the sink. For a sink that waits for a disk, the task should prefer an executor whose threads may block
    /// (`withTaskExecutorPreference`).
    ///
    /// Cancelling the task ends the transfer with ``TransferError/Code/cancelled``, within milliseconds if the sink returns. The sink keeps the bytes
    /// received until then, and receives `end(.cut)`.
    ///
    /// - Parameters:
    ///   - sink: Receives the body. The transfer pauses while 1 MiB waits for the sink.
    ///   - events: Called on the engine's thread or by the calling task, never concurrently; must return immediately.
    /// - Returns: The final response, also for an error status; see ``TransferResult/Outcome``.
    public func run(
        _ request: TransferRequest, into sink: any BodySink,
        events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        if let reason = clibcurl_load() {
            throw TransferError(.libcurl, url: URLText.withoutUserinfo(request.url), String(cString: reason))
        }
        let prepared = try PreparedRequest(request)
        let policy = request.options.gate?.gate.addressPolicy ?? mailbox.configuration.addressPolicy
        if policy.judges, request.options.proxy?.isEmpty == false {
            throw TransferError(
                .invalidRequest, url: prepared.url.text,
                "a proxy would connect to whatever address it likes; this engine uses none")
        }
        let id = mailbox.nextID()
        let calls = SinkCalls(priority: request.priority)
        let result = await withTaskCancellationHandler {
            var task = SinkTask(id, prepared, into: sink, calls, mailbox: mailbox, events: events)
            return await task.run()
        } onCancel: {
            calls.cancel()
            mailbox.post(.cancel(id))
        }
        return try result.get()
    }

    /// The version of libcurl and of the libraries that it uses.
    package static func libraryVersion() throws(TransferError) -> String {
        if let reason = clibcurl_load() { throw TransferError(.libcurl, url: "", String(cString: reason)) }
        return String(cString: clibcurl_version())
    }

    /// ``libraryVersion()``, or the reason why there is none.
    package static var libraryReport: String {
        do throws(TransferError) { return try libraryVersion() } catch { return error.message }
    }

    /// Counts of all transfers of this engine.
    public var totals: TransferTotals { mailbox.totals.withLock { $0 } }

    /// Ends all transfers with ``TransferError/Code/cancelled``, stops the engine's thread, and waits for it. Each transfer returns when its sink has
    /// returned. A later transfer fails with the same code.
    ///
    /// Required before a program calls `exit`, which tears libcurl's TLS library down while another thread may still use it.
    public func shutDown() async {
        mailbox.stop()
        await mailbox.end()
    }
}

/// The controls of one of the engine's transfers.
final class TransferHandle: TransferControl {
    private let id: UInt64
    private let calls: SinkCalls
    private let mailbox: Mailbox

    init(id: UInt64, calls: SinkCalls, mailbox: Mailbox) {
        self.id = id
        self.calls = calls
        self.mailbox = mailbox
    }

    func resume() { calls.resume() }

    func cancel() {
        calls.cancel()
        mailbox.post(.cancel(id))
    }

    func prioritize(_ priority: TransferPriority) {
        calls.priority = priority
        mailbox.post(.prioritize(id, priority))
    }

    func pause(at offset: Int64) { mailbox.post(.pause(id, at: offset)) }
}
