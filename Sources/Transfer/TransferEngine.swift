import CLibcurl
public import FoundationEssentials
public import HTTPSemantics
import Synchronization

/// Transfers bodies over libcurl: one multi handle on one thread of its own, which starts with the first transfer.
///
/// Connections are reused, HTTP/2 is multiplexed, DNS answers and TLS sessions are shared between transfers. Redirects
/// are followed to http and https only, and at most 64 KiB of their bodies are read. libcurl is opened when the first transfer needs it.
public final class TransferEngine: HTTPTransport {
    /// Limits of the transfers that run at the same time.
    public struct Configuration: Sendable {
        /// Transfers at once; default 16. The others wait, in order of ``TransferRequest/priority``, then of arrival.
        public var maxTransfers = 16
        /// Transfers at once from one origin (scheme, host and port); default 6.
        public var maxPerHost = 6
        /// Transfers at once for one ``TransferRequest/client``; default: no limit but the others.
        public var maxPerClient: Int?
        /// Which addresses are connected to; default: any.
        public var addressPolicy = AddressPolicy.any
        /// The query parameters that do not count when final URLs are compared; default ``SignatureParameters/known``.
        public var signatures = SignatureParameters.known
        /// Uniform numbers in 0 ..< 1 for the jitter of retries.
        public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The wall clock of ``ResponseHead/requestTime`` and ``ResponseHead/responseTime``.
        public var now: @Sendable () -> Date = { Date() }

        public init() {}
    }

    private let mailbox: Mailbox

    public init(configuration: Configuration = Configuration()) {
        mailbox = Mailbox(configuration: configuration)
    }

    deinit { mailbox.stop() }

    /// Runs one transfer to its end. All calls of `sink` and `events` are over when it returns.
    ///
    /// Cancelling the task ends the transfer within milliseconds, with ``TransferError/Code/cancelled``; what had
    /// arrived was given to the sink, and its `end(.cut)` was called.
    ///
    /// - Parameters:
    ///   - sink: Gets the body.
    ///   - events: Called on the engine's thread; it must return at once.
    /// - Returns: Also for an error status; see ``TransferResult/Outcome``.
    public func run(
        _ request: TransferRequest, into sink: any BodySink,
        events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        if let reason = clibcurl_load() {
            throw TransferError(.libcurl, url: URLText.withoutUserinfo(request.url), String(cString: reason))
        }
        let prepared = try PreparedRequest(request)
        if mailbox.configuration.addressPolicy.judges, request.options.proxy?.isEmpty == false {
            throw TransferError(
                .invalidRequest, url: prepared.url.text,
                "a proxy would connect to whatever address it likes; this engine uses none")
        }
        let id = mailbox.nextID()
        let result: Result<TransferResult, TransferError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let order = Mailbox.Order(
                    id: id, prepared: prepared, sink: sink, events: events, continuation: continuation)
                mailbox.post(.start(order))
            }
        } onCancel: {
            prepared.isCancelled.store(true, ordering: .releasing)
            mailbox.post(.cancel(id))
        }
        return try result.get()
    }

    /// What this engine has moved so far.
    public var totals: TransferTotals { mailbox.counts.totals }

    /// Ends all transfers with ``TransferError/Code/cancelled`` and the engine's thread, and waits for both. A transfer
    /// that is run afterwards fails in the same way.
    ///
    /// A program calls this before it leaves through `exit`: libcurl's TLS library tears itself down there, and must
    /// not be in use on another thread.
    public func shutDown() async {
        mailbox.stop()
        await mailbox.end()
    }
}

/// The controls of one of the engine's transfers.
final class TransferHandle: TransferControl {
    private let id: UInt64
    private let mailbox: Mailbox

    init(id: UInt64, mailbox: Mailbox) {
        self.id = id
        self.mailbox = mailbox
    }

    func resume() { mailbox.post(.resume(id)) }

    func cancel() { mailbox.post(.cancel(id)) }

    func prioritize(_ priority: TransferPriority) { mailbox.post(.prioritize(id, priority)) }
}
