import CLibcurl
import ConcurrencyPrimitives
import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// A transfer that the engine runs. It reports the events of libcurl to its ``TransferStateMachine`` and performs the actions. The transfer's task
/// (``SinkTask``) performs the actions that call the sink, and has the state machine between exchanges.
///
/// Used by the engine's thread only.
final class RunningTransfer {
    /// The part of an action that the loop performs.
    enum Next {
        case proceed
        /// End the request early.
        case stop
        case finished(Result<TransferResult, TransferError>)
        /// Send another request in the same slot, without a pause.
        case again
        /// The sink's results decide the next step.
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

    // Used by the loop.
    var priority: TransferPriority
    /// True if the transfer waits in the schedule.
    var isWaiting = false
    /// True if the transfer's task has the state machine.
    var isWithTask = false
    /// Its place in the schedule, which it keeps during a pause between two attempts.
    var place: UInt64?
    /// Its place in the limit that all processes share.
    var sharedPlace: (any AnyObject & Sendable)?
    /// True if its handle was added to the multi handle.
    var isAdded = false
    private(set) var handle: EasyHandle?
    /// The end of a pause that limits the rate, if the loop has not taken it yet.
    var wakingTime: MonotonicTime?

    /// The offset in the body at which the sink wants the transfer to pause.
    private(set) var end: Int64?
    private var lastReport = MonotonicTime(nanoseconds: 0)
    /// The cookies of the file and of responses, after the last request; `nil` without a file, and before.
    private(set) var cookies: [String]?
    /// The fields of the current request, if they differ from the usual ones.
    private var ownHeaders: UnsafeMutablePointer<curl_slist>?

    var options: TransferOptions { prepared.checked.options }
    var host: String { prepared.host }
    var client: String? { prepared.checked.request.client }
    /// The limit of concurrent transfers with its host, if a gate has one.
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

    /// Prepares the next request, of a new attempt or after a redirect.
    ///
    /// - Parameter transfers: The number of transfers of the engine.
    /// - Returns: The reason not to send the request; `nil` if it was prepared.
    func startRequest(on handle: EasyHandle, among transfers: Int, now: MonotonicTime) -> TransferError? {
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
            configure(handle, for: request, headers: ownHeaders ?? prepared.headers, among: transfers)
            return nil
        case .finish(.failure(let error)):
            // The host was refused before its name was resolved.
            if error.code == .addressRefused { mailbox.totals.withLock { $0.noteFailure(error.code) } }
            return error
        default: return machine.error(.libcurl, "no request can be sent now")
        }
    }

    func releaseHandle() -> EasyHandle? {
        defer { handle = nil }
        if options.cookieFile != nil { cookies = handle?.cookies }
        return handle
    }

    // MARK: Ends

    /// Handles the end of libcurl's work on the request.
    func requestEnded(_ code: CURLcode, now: MonotonicTime) -> Next {
        if let handle, handle.responseCode > 0 {
            let (status, latency) = (handle.responseCode, latency)
            mailbox.totals.withLock { $0.noteResponse(status: status, latency: latency) }
        }
        guard code != CURLE_OK else { return exchangeEnded(.complete, now: now) }
        let failure = failure(code)
        // A transfer that ended the request itself has not failed.
        if code != CURLE_WRITE_ERROR {
            let code = machine.code(of: failure)
            mailbox.totals.withLock { $0.noteFailure(code) }
        }
        return exchangeEnded(.failed(failure), now: now)
    }

    func requestStalled(_ stall: TransferError, now: MonotonicTime) -> Next {
        mailbox.totals.withLock { $0.noteFailure(stall.code) }
        return exchangeEnded(.stalled(stall), now: now)
    }

    private func exchangeEnded(_ end: ExchangeEnd, now: MonotonicTime) -> Next {
        var action = machine.exchangeEnded(end, at: now)
        // The head of a body without bytes is complete only now.
        if case .beginBody = action, machine.sent != nil {
            _ = perform(action, now: now)
            action = machine.exchangeEnded(end, at: now)
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
        // libcurl has one code for a late connection and a late response. The latter follows a request that was sent.
        if code == CURLE_OPERATION_TIMEDOUT, let handle, handle.offset(CURLINFO_PRETRANSFER_TIME_T) > 0 {
            failure.isWithoutConnection = false
        }
        return failure
    }

    func cancel(now: MonotonicTime) -> Next {
        // Reports the number of bytes that are kept after the cancellation.
        if machine.history.progress.received > 0 { report(now: now, force: true) }
        return perform(machine.cancel(), now: now)
    }

    /// Stops the request after an error of the sink, and returns the next step.
    func sinkFailed(_ cause: any Error, now: MonotonicTime) -> Next? {
        guard case .stop = perform(machine.sinkFailed(cause), now: now) else { return nil }
        return exchangeEnded(.complete, now: now)
    }

    /// Passes the decision about the next step to the transfer's task.
    func decide(_ action: TransferStateMachine.Action, holdsSlot: Bool) {
        isWithTask = true
        handover.handOver(before: .decide(machine, action, holdsSlot: holdsSlot))
    }

    /// The sample of a request that has ended, for the host's concurrency; `nil` without a response.
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

    /// The error if too few bytes arrive.
    func stall(now: MonotonicTime) -> TransferError? {
        guard let handle else { return nil }
        let uploaded = prepared.checked.request.body == nil ? 0 : handle.offset(CURLINFO_SIZE_UPLOAD_T)
        let sent = handle.offset(CURLINFO_PRETRANSFER_TIME_T)
        return machine.stall(at: now, uploaded: uploaded, sentAfter: sent > 0 ? .microseconds(sent) : nil)
    }

    /// Continues after a pause by the sink. The next piece pauses the transfer again if the reason persists.
    func resume(now: MonotonicTime) {
        if machine.resume(at: now) { unpause() }
    }

    /// Pauses before the bytes at an offset in the body.
    func pause(at offset: Int64, now: MonotonicTime) {
        end = offset
        resume(now: now)
    }

    /// Continues after a pause that limits the rate, if the pause has ended.
    func wake(now: MonotonicTime) {
        if machine.rateAllows(at: now) { unpause() }
    }

    private func unpause() {
        if let handle { clibcurl_easy_pause(handle.easy, CURLPAUSE_CONT) }
    }

    /// Takes the end of a pause that limits the rate. Returns it once for each pause.
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
