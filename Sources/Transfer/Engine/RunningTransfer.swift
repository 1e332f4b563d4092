import CLibcurl
import ConcurrencyPrimitives
import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// A transfer that the engine runs: it tells its ``TransferStateMachine`` what libcurl and the sink do, and performs the
/// actions.
///
/// Used by the engine's thread only.
final class RunningTransfer {
    /// The part of an action that is the loop's to perform.
    enum Next {
        case goOn
        /// End the request early.
        case stop
        case finished(Result<TransferResult, TransferError>)
        /// Another request in the same slot, at once.
        case again
        /// Give the slot back and come again later.
        case wait(Duration)
    }

    let id: UInt64
    let prepared: PreparedRequest
    let sink: any BodySink
    let events: @Sendable (TransferEvent) -> Void
    let continuation: UnsafeContinuation<Result<TransferResult, TransferError>, Never>
    let mailbox: Mailbox
    var machine: TransferStateMachine
    var collector = HeadCollector()

    // The loop's.
    var priority: TransferPriority
    /// Waits in the schedule.
    var isWaiting = false
    /// Its place there, which it keeps while it pauses between two attempts.
    var place: UInt64?
    /// Its place among the transfers of all processes.
    var sharedPlace: (any AnyObject & Sendable)?
    /// The time since when it has wanted one.
    var wantsPlaceSince: MonotonicTime?
    /// Its handle is in the multi handle.
    var isAdded = false
    private(set) var handle: EasyHandle?
    /// The end of a pause that keeps to the rate, which the loop was not told yet.
    var wakingTime: MonotonicTime?

    /// The sink was given bytes since the last `writeBatchComplete`.
    var hasNews = false
    private var lastReport = MonotonicTime(nanoseconds: 0)
    /// The fields of the present request, if they are not the usual ones.
    private var ownHeaders: UnsafeMutablePointer<curl_slist>?

    var options: TransferOptions { prepared.checked.options }
    var host: String { prepared.host }
    var client: String? { prepared.checked.request.client }
    /// The limit of the transfers with its host, if a gate has one.
    var connectionLimit: Int? { options.gate?.gate.connectionLimit(for: prepared.url) }

    init(_ submission: Mailbox.Submission, mailbox: Mailbox, startedAt: MonotonicTime) {
        id = submission.id
        prepared = submission.prepared
        sink = submission.sink
        events = submission.events
        continuation = submission.continuation
        priority = submission.prepared.checked.request.priority
        self.mailbox = mailbox
        let configuration = mailbox.configuration
        machine = TransferStateMachine(
            submission.prepared.checked,
            rules: .init(
                signatures: configuration.signatures,
                addressPolicy: prepared.checked.options.gate?.gate.addressPolicy ?? configuration.addressPolicy),
            startedAt: startedAt)
    }

    deinit { clibcurl_slist_free(ownHeaders) }

    func attach() {
        sink.attach(TransferHandle(id: id, mailbox: mailbox))
        events(.queued)
    }

    // MARK: Requests

    /// Prepares the next request: of a new attempt, or the one that a redirect asks for.
    ///
    /// - Returns: The reason not to send it.
    func startRequest(on handle: EasyHandle, now: MonotonicTime) -> TransferError? {
        self.handle = handle
        let attempts = machine.history.attempts
        var action = machine.start(at: now, date: mailbox.configuration.now())
        if case .askHeld = action {
            _ = machine.learned(held: sink.held())
            action = machine.start(at: now, date: mailbox.configuration.now())
        }
        if machine.history.attempts > attempts {
            mailbox.totals.withLock { $0.attempts += 1 }
            events(.attempt(machine.history.attempts))
        }
        switch action {
        case .send(let request):
            collector.reset()
            clibcurl_slist_free(ownHeaders)
            ownHeaders = prepared.ownHeaders(for: request.hop, adding: request.conditions)
            configure(handle, for: request, headers: ownHeaders ?? prepared.headers)
            return nil
        case .finish(.failure(let error)):
            // The host was judged before its name was resolved.
            if error.code == .addressRefused { mailbox.totals.withLock { $0.noteFailure(error.code) } }
            return error
        default: return machine.error(.libcurl, "no request can be sent now")
        }
    }

    func releaseHandle() -> EasyHandle? {
        defer { handle = nil }
        return handle
    }

    // MARK: Ends

    /// libcurl has ended its work on the request.
    func requestEnded(_ code: CURLcode, now: MonotonicTime) -> Next {
        if let handle, handle.responseCode > 0 {
            let (status, latency) = (handle.responseCode, latency)
            mailbox.totals.withLock { $0.noteResponse(status: status, latency: latency) }
        }
        guard code != CURLE_OK else { return exchangeEnded(.complete, now: now) }
        let failure = failure(code)
        // A transfer that stopped itself has not failed.
        if code != CURLE_WRITE_ERROR {
            let code = machine.code(of: failure)
            mailbox.totals.withLock { $0.noteFailure(code) }
        }
        return exchangeEnded(.failed(failure), now: now)
    }

    func requestStalled(now: MonotonicTime) -> Next {
        mailbox.totals.withLock { $0.noteFailure(.stalled) }
        return exchangeEnded(.stalled, now: now)
    }

    private func exchangeEnded(_ end: ExchangeEnd, now: MonotonicTime) -> Next {
        let seconds = handle?.offset(CURLINFO_RETRY_AFTER) ?? 0
        let retryAfter: Duration? = seconds > 0 ? .seconds(seconds) : nil
        return perform(machine.exchangeEnded(end, retryAfter: retryAfter, at: now), now: now)
    }

    private func failure(_ code: CURLcode) -> TransportFailure {
        var failure = TransportFailure(
            code, text: URLText.masked(handle?.lastError ?? ""), hasHead: machine.hasHead,
            isRedirected: machine.sent?.redirects.isEmpty == false)
        if code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY {
            failure.isFromSpoiledConnection = handle?.number(CURLINFO_NUM_CONNECTS) == 0
        }
        return failure
    }

    func cancel(now: MonotonicTime) -> Result<TransferResult, TransferError> {
        let next = perform(machine.cancel(), now: now)
        // Whoever cancels wants to know how much is kept.
        let progress = machine.history.progress
        if progress.received > 0 { events(.received(progress.bytes, total: progress.total)) }
        if case .finished(let result) = next { return result }
        return .failure(machine.error(.cancelled, "the transfer was cancelled"))
    }

    /// The response of a request that has ended, as far as it says something about the host.
    var concurrencySample: HostConcurrency.Sample? {
        guard let handle, handle.responseCode > 0 else { return nil }
        return HostConcurrency.Sample(
            bytes: handle.offset(CURLINFO_SIZE_DOWNLOAD_T),
            latency: latency,
            refusal: HostConcurrency.Refusal(status: handle.responseCode),
            isMultiplexed: handle.number(CURLINFO_HTTP_VERSION) >= CURL_HTTP_VERSION_2_0)
    }

    // MARK: Time

    /// The time from the request to the first byte of its response; nil if there was none.
    private var latency: Duration? {
        guard let handle else { return nil }
        let sent = handle.offset(CURLINFO_PRETRANSFER_TIME_T)
        let first = handle.offset(CURLINFO_STARTTRANSFER_TIME_T)
        return first > sent ? .microseconds(first - sent) : nil
    }

    func isStalled(now: MonotonicTime) -> Bool {
        guard let handle else { return false }
        let uploaded = prepared.checked.request.body == nil ? 0 : handle.offset(CURLINFO_SIZE_UPLOAD_T)
        let sent = handle.offset(CURLINFO_PRETRANSFER_TIME_T)
        return machine.isStalled(at: now, uploaded: uploaded, sentAfter: sent > 0 ? .microseconds(sent) : nil)
    }

    /// The sink is ready again.
    func resume(now: MonotonicTime) {
        if machine.resume(at: now) { unpause() }
    }

    /// A pause that keeps to the rate may be over.
    func wake(now: MonotonicTime) {
        if machine.rateAllows(at: now) { unpause() }
    }

    private func unpause() {
        if let handle { clibcurl_easy_pause(handle.easy, CURLPAUSE_CONT) }
    }

    /// The end of a pause that keeps to the rate; once for each pause.
    func takeWakingTime() -> MonotonicTime? {
        defer { wakingTime = nil }
        return wakingTime
    }

    /// Tells the sink that nothing more has come for now.
    func tellLull() {
        guard hasNews else { return }
        hasNews = false
        if machine.isBodyOpen { sink.writeBatchComplete() }
    }

    func report(now: MonotonicTime, force: Bool = false) {
        guard force || now - lastReport >= .milliseconds(100) else { return }
        lastReport = now
        let progress = machine.history.progress
        events(.received(progress.bytes, total: progress.total))
    }
}
