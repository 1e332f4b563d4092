import CLibcurl
import ConcurrencyPrimitives
import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// A transfer that the engine runs: it tells its ``TransferStateMachine`` what libcurl does, and performs the actions. Those that call the
/// sink are the transfer's task's (``SinkTask``), which has the machine between exchanges.
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
        /// The sink's answers decide.
        case decide(TransferStateMachine.Action)
    }

    let id: UInt64
    let prepared: PreparedRequest
    let calls: SinkCalls
    let events: @Sendable (TransferEvent) -> Void
    let mailbox: Mailbox
    var machine: TransferStateMachine
    var handover: Handover
    var collector = HeadCollector()

    // The loop's.
    var priority: TransferPriority
    /// Waits in the schedule.
    var isWaiting = false
    /// The sink is asked what follows, and the transfer's task has the machine.
    var isWithTask = false
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

    private var lastReport = MonotonicTime(nanoseconds: 0)
    /// The fields of the present request, if they are not the usual ones.
    private var ownHeaders: UnsafeMutablePointer<curl_slist>?

    var options: TransferOptions { prepared.checked.options }
    var host: String { prepared.host }
    var client: String? { prepared.checked.request.client }
    /// The limit of the transfers with its host, if a gate has one.
    var connectionLimit: Int? { options.gate?.gate.connectionLimit(for: prepared.url) }

    init(_ submission: Mailbox.Submission, mailbox: Mailbox) {
        id = submission.id
        prepared = submission.prepared
        calls = submission.calls
        events = submission.events
        machine = submission.machine
        priority = submission.calls.priority
        handover = Handover(to: submission.calls)
        self.mailbox = mailbox
    }

    deinit { clibcurl_slist_free(ownHeaders) }

    // MARK: Requests

    /// Prepares the next request: of a new attempt, or the one that a redirect asks for.
    ///
    /// - Returns: The reason not to send it.
    func startRequest(on handle: EasyHandle, now: MonotonicTime) -> TransferError? {
        self.handle = handle
        let attempts = machine.history.attempts
        let action = machine.start(at: now, date: mailbox.configuration.now())
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
        var action = machine.exchangeEnded(end, retryAfter: retryAfter, at: now)
        // A head that is complete only now: of a body without a byte.
        if case .beginBody = action, machine.sent != nil {
            _ = perform(action, now: now)
            action = machine.exchangeEnded(end, retryAfter: retryAfter, at: now)
        }
        return perform(action, now: now)
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

    func cancel(now: MonotonicTime) -> Next {
        // Whoever cancels wants to know how much is kept.
        if machine.history.progress.received > 0 { report(now: now, force: true) }
        return perform(machine.cancel(), now: now)
    }

    /// The sink has thrown. The request's end tells the loop, which comes at once.
    func sinkFailed(_ cause: any Error, now: MonotonicTime) -> Next? {
        guard case .stop = perform(machine.sinkFailed(cause), now: now) else { return nil }
        return exchangeEnded(.complete, now: now)
    }

    /// Hands the transfer over to its task.
    func decide(_ action: TransferStateMachine.Action, holdsSlot: Bool) {
        isWithTask = true
        handover.handOver(before: .decide(machine, action, holdsSlot: holdsSlot))
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

    /// The sink has taken something.
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

    func report(now: MonotonicTime, force: Bool = false) {
        guard force || now - lastReport >= .milliseconds(100) else { return }
        lastReport = now
        let progress = machine.history.progress
        events(.received(progress.bytes, total: progress.total))
    }
}
