import CLibcurl
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Synchronization

/// One transfer over all its attempts: what it asked, what came, and what to do next. It performs what ``ResumePlan``
/// decides.
///
/// Used by the engine's thread only.
final class RunningTransfer {
    /// What the loop does when an attempt has ended.
    enum Next {
        case finished(Result<TransferResult, TransferError>)
        /// Another attempt in the same slot, at once.
        case again
        /// Give the slot back and come again later.
        case wait(Duration)
    }

    enum Phase {
        case head
        case body
        /// The body is nobody's; its length so far counts.
        case discard(Int64)
    }

    // What it is.
    let id: UInt64
    let prepared: PreparedRequest
    let sink: any BodySink
    let events: @Sendable (TransferEvent) -> Void
    let continuation: UnsafeContinuation<Result<TransferResult, TransferError>, Never>
    let mailbox: Mailbox
    private let startedAt: MonotonicTime
    var priority: TransferPriority
    /// Waits in the schedule.
    var isWaiting = false
    /// Its place there, which it keeps while it pauses between two attempts.
    var place: UInt64?
    /// Its handle is in the multi handle.
    var isAdded = false
    private(set) var handle: EasyHandle?

    // Over all attempts.
    var attempts = 0
    var bytesReceived: Int64 = 0
    var restarts: [String] = []
    var resumedFrom: Int64 = 0
    private var retry: RetryState
    /// What keeps it to its rate, over all attempts.
    var pace: Pace?
    /// The most bytes that were ever held: an attempt that ends with more has made progress.
    private var furthest: Int64 = 0
    private var heldNow: HeldPartial?
    private var provingTotal: Int64?

    // The attempt.
    var hops: [RedirectHop] = []
    var requestTime = Date()
    private var attemptStart: MonotonicTime

    // Its present request.
    private(set) var hop: Hop
    /// The one that comes after it, because it was redirected.
    var nextHop: Hop?
    var plan: ResumePlan
    var collector = HeadCollector()
    var phase = Phase.head
    var headTime = Date()
    var head: ResponseHead?
    var action: ResumeAction?
    /// Our own reason to stop the attempt.
    var failure: TransferError?
    /// Why a socket was not opened that libcurl asked for since the last head. Of a name's other addresses one may be
    /// connected to all the same.
    var addressRefusal: String?
    var isSinkOpen = false
    var isPaused = false
    /// Whether that is to keep to the rate.
    var isPacing = false
    /// Whether the sink was given bytes since the last lull.
    var hasNews = false
    /// Body bytes of this attempt that the sink took, and how many it must become.
    var received: Int64 = 0
    var expected: Int64?
    /// Where progress counts from, and to.
    var progressBase: Int64 = 0
    var progressTotal: Int64?
    var lastReport = MonotonicTime(nanoseconds: 0)
    var lastActivity: MonotonicTime?
    var headBegan: MonotonicTime?
    private var requestStart: MonotonicTime
    private var uploaded: Int64 = 0
    /// The last one that the loop was told.
    private var wakingTime: MonotonicTime?
    private(set) var needsFreshConnection = false
    /// Whether a response ever came.
    private var hasReachedHost = false
    /// The fields of the present request, if they are not the usual ones.
    private var ownHeaders: UnsafeMutablePointer<curl_slist>?

    var request: TransferRequest { prepared.request }
    var options: TransferOptions { prepared.request.options }
    var host: String { prepared.host }
    var client: String? { prepared.request.client }
    var stallTimeout: Duration { options.stallTimeout }

    init(_ order: Mailbox.Order, mailbox: Mailbox, startedAt: MonotonicTime) {
        id = order.id
        prepared = order.prepared
        sink = order.sink
        events = order.events
        continuation = order.continuation
        priority = order.prepared.request.priority
        self.mailbox = mailbox
        self.startedAt = startedAt
        attemptStart = startedAt
        requestStart = startedAt
        hop = Hop(first: order.prepared)
        retry = RetryState(policy: order.prepared.request.options.retry)
        pace = order.prepared.request.options.rateLimit.map { Pace(rate: $0, now: startedAt) }
        plan = ResumePlan(method: .get, fields: [:], held: nil, mayResume: false, url: "")
    }

    deinit { clibcurl_slist_free(ownHeaders) }

    func attach() {
        sink.attach(TransferHandle(id: id, mailbox: mailbox))
        events(.queued)
    }

    // MARK: Attempts

    /// Prepares the next request: of a new attempt, or the one that a redirect asks for.
    ///
    /// - Returns: why it must not be sent.
    func startRequest(on handle: EasyHandle, now: MonotonicTime) -> TransferError? {
        self.handle = handle
        if let nextHop {
            hop = nextHop
            self.nextHop = nil
        } else {
            beginAttempt(now)
        }
        beginRequest(now)
        if let reason = addressPolicy.refusal(of: endpoint) { return error(.addressRefused, reason) }
        clibcurl_slist_free(ownHeaders)
        ownHeaders = prepared.ownHeaders(for: hop, adding: conditions)
        let timeLeft = options.maxTime.map { $0 - (now - attemptStart) }
        configure(handle, headers: ownHeaders ?? prepared.headers, timeLeft: timeLeft)
        return nil
    }

    private func beginAttempt(_ now: MonotonicTime) {
        if attempts == 0 {
            askHeld()
            furthest = heldNow?.heldBytes ?? 0
            resumedFrom = furthest
        }
        attempts += 1
        hop = Hop(first: prepared)
        hops.removeAll(keepingCapacity: true)
        requestTime = mailbox.configuration.now()
        attemptStart = now
        mailbox.counts.attempts.add(1, ordering: .relaxed)
        events(.attempt(attempts))
    }

    private func beginRequest(_ now: MonotonicTime) {
        plan = ResumePlan(
            method: hop.method, fields: request.fields, held: heldNow, mayResume: prepared.mayResume, url: hop.url.text,
            signatures: mailbox.configuration.signatures, hasConditions: !storedConditions.isEmpty,
            passesEveryStatus: options.passesEveryStatus, provingTotal: provingTotal)
        collector.reset()
        phase = .head
        head = nil
        action = nil
        failure = nil
        addressRefusal = nil
        isPaused = false
        isPacing = false
        received = 0
        expected = nil
        lastActivity = nil
        headBegan = nil
        requestStart = now
        uploaded = 0
    }

    /// What is asked about held bytes and a stored body: only of the resource that they came from. A 206 or 304 of another one
    /// would mean something else by the same validator.
    private var conditions: HTTPFields {
        var fields = storedConditions
        if let ifRange = plan.ifRange { fields[.ifRange] = ifRange }
        return fields
    }

    private var storedConditions: HTTPFields {
        guard let conditions = request.conditions,
            mailbox.configuration.signatures.isSameResource(conditions.url, hop.url.text)
        else { return HTTPFields() }
        return conditions.fields
    }

    func releaseHandle() -> EasyHandle? {
        defer { handle = nil }
        return handle
    }

    func attemptEnded(_ code: CURLcode, now: MonotonicTime) -> Next {
        judgeLastHead(code)
        if let failure { return ended(by: failure, now: now) }
        if nextHop != nil { return .again }
        guard let action else {
            if isSpoiled(code) {
                needsFreshConnection = true
                return .again
            }
            // libcurl takes the end of a connection for the end of the head.
            let isCutInHead = code == CURLE_OK
            return ended(
                by: isCutInHead
                    ? error(.connect, "the connection ended inside the response head", isRetryable: true)
                    : curlError(code), now: now)
        }
        switch action {
        case .take(let placement, _, _): return bodyEnded(placement, code, now: now)
        case .alreadyComplete(let total): return completeWithHeld(total)
        case .proveTotal(let total):
            provingTotal = total
            return .again
        case .restart(let reason): return startOver(reason)
        case .notModified: return .finished(.success(result(.notModified)))
        case .status: return statusEnded(now: now)
        case .fail(let text): return .finished(.failure(error(.protocolViolation, text)))
        }
    }

    /// Whether what came is no HTTP, on a connection that was used before: what the origin sent there beyond the length of
    /// the answer before (or after a 204) may have been taken for this one's beginning. Once, a new connection tells.
    private func isSpoiled(_ code: CURLcode) -> Bool {
        guard code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY, !collector.isComplete,
            !needsFreshConnection, RetryState.isIdempotent(method: request.method.rawValue)
        else { return false }
        return handle?.number(CURLINFO_NUM_CONNECTS) == 0
    }

    func attemptStalled(now: MonotonicTime) -> Next {
        // The rest of a redirect's body is not waited for.
        if nextHop != nil { return .again }
        judgeLastHead(CURLE_OPERATION_TIMEDOUT)
        switch action {
        case .take, nil: break
        // The head said everything; only what would have been discarded is late.
        default: return attemptEnded(CURLE_OPERATION_TIMEDOUT, now: now)
        }
        let error = error(.stalled, "no byte from the server for \(stallTimeout.text)", isRetryable: true)
        return ended(by: error, now: now)
    }

    /// A head that was no more than complete when the attempt ended was the last one.
    private func judgeLastHead(_ code: CURLcode) {
        guard failure == nil, action == nil, nextHop == nil, collector.isComplete else { return }
        _ = judgeHead()
    }

    func cancel() -> Result<TransferResult, TransferError> {
        closeSink(.cut)
        // Whoever cancels wants to know how much is kept.
        if received > 0 { events(.received(progressBase + received, total: progressTotal)) }
        return .failure(error(.cancelled, "the transfer was cancelled"))
    }

    // MARK: Ends of an attempt

    private func bodyEnded(_ placement: BodyPlacement, _ code: CURLcode, now: MonotonicTime) -> Next {
        guard code == CURLE_OK else {
            let error = curlError(code)
            return ended(by: error, now: now)
        }
        if let expected, received < expected {
            // A response that has an end of its own, and is still shorter than it says, is not believed; one that ends
            // with the connection was cut.
            if case .range = placement, head?.endsWithConnection == false {
                return startOver("206 with \(received) bytes for a range of \(expected)")
            }
            return ended(by: error(.cut, "the body is shorter than its head says", isRetryable: true), now: now)
        }
        if let error = closeSink(.complete) { return .finished(.failure(error)) }
        report(now: now, force: true)
        guard case .range = placement, let before = plan.held, before.missing.count > 1 else {
            return .finished(.success(result(.body)))
        }
        askHeld()
        guard let heldNow, !heldNow.missing.isEmpty else { return .finished(.success(result(.body))) }
        guard heldNow.missingBytes < before.missingBytes else {
            return .finished(.failure(error(.refusedBySink, "the sink still misses the range that it was given")))
        }
        furthest = max(furthest, heldNow.heldBytes)
        return .again
    }

    private func completeWithHeld(_ total: Int64) -> Next {
        guard let head else { return .finished(.failure(error(.protocolViolation, "an answer without a head"))) }
        do {
            try sink.begin(head, .alreadyComplete(total: total))
            isSinkOpen = true
        } catch {
            return .finished(.failure(refused(error)))
        }
        events(.head(head, resumedFrom: total, total: total))
        if let error = closeSink(.complete) { return .finished(.failure(error)) }
        return .finished(.success(result(.body)))
    }

    private func startOver(_ reason: String) -> Next {
        isSinkOpen = true
        if let error = closeSink(.void) { return .finished(.failure(error)) }
        noteRestart(reason)
        resumedFrom = 0
        heldNow = nil
        provingTotal = nil
        return .again
    }

    private func statusEnded(now: MonotonicTime) -> Next {
        guard !options.passesEveryStatus, let status = head?.status.code, RetryState.isRetryable(status: status) else {
            return .finished(.success(result(.status)))
        }
        let seconds = handle?.offset(CURLINFO_RETRY_AFTER) ?? 0
        switch decideRetry(retryAfter: seconds > 0 ? .seconds(seconds) : nil, now: now) {
        case .retry(let delay):
            events(.retrying(after: delay, because: "the server answered \(status)"))
            return .wait(delay)
        case .giveUp(let note):
            var result = result(.status)
            result.retriesEnded = note
            return .finished(.success(result))
        }
    }

    private func ended(by error: TransferError, now: MonotonicTime) -> Next {
        if let sinkError = closeSink(error.code == .tooLarge ? .void : .cut) {
            return .finished(.failure(error.code == .refusedBySink ? error : sinkError))
        }
        guard error.isRetryable else { return .finished(.failure(error)) }
        let isUnreachable = !hasReachedHost && (error.code == .resolve || error.code == .connect)
        switch decideRetry(retryAfter: nil, isUnreachable: isUnreachable, now: now) {
        case .retry(let delay):
            events(.retrying(after: delay, because: error.message))
            return .wait(delay)
        case .giveUp(let note):
            var error = error
            if let note { error.message += " (\(note))" }
            return .finished(.failure(error))
        }
    }

    private func decideRetry(
        retryAfter: Duration?, isUnreachable: Bool = false, now: MonotonicTime
    ) -> RetryState.Decision {
        guard options.retry.maxRetries > 0, RetryState.isIdempotent(method: request.method.rawValue) else {
            return .giveUp(note: nil)
        }
        guard sink.takesAnother() else { return .giveUp(note: "the answer was handed on, and cannot be continued") }
        askHeld()
        provingTotal = nil
        let held = heldNow?.heldBytes ?? 0
        let madeProgress = held > furthest
        furthest = max(furthest, held)
        return retry.decide(
            madeProgress: madeProgress, retryAfter: retryAfter, isUnreachable: isUnreachable, elapsed: now - startedAt,
            random: mailbox.configuration.random())
    }

    // MARK: The sink

    private func askHeld() {
        heldNow = prepared.mayResume ? sink.held() : nil
    }

    @discardableResult
    func closeSink(_ ending: AttemptEnding) -> TransferError? {
        guard isSinkOpen else { return nil }
        isSinkOpen = false
        do {
            try sink.end(ending)
            return nil
        } catch {
            return refused(error)
        }
    }

    /// Tells the sink that nothing more has come for now.
    func tellLull() {
        guard hasNews else { return }
        hasNews = false
        if isSinkOpen { sink.lull() }
    }

    func noteRestart(_ reason: String) {
        restarts.append(reason)
        events(.restart(reason))
    }

    // MARK: Results

    private func result(_ outcome: TransferResult.Outcome) -> TransferResult {
        let none = ResponseHead(
            status: .init(code: 0), fields: [:], finalURL: prepared.url.text, requestTime: requestTime,
            responseTime: requestTime)
        return TransferResult(
            head: head ?? none, outcome: outcome, bytesReceived: bytesReceived,
            resumedFrom: outcome == .body ? resumedFrom : 0, attempts: attempts, restarts: restarts)
    }

    func error(
        _ code: TransferError.Code, _ message: String, cause: (any Error)? = nil, isRetryable: Bool = false
    ) -> TransferError {
        var error = TransferError(code, url: prepared.url.text, message, cause: cause, isRetryable: isRetryable)
        error.bytesReceived = bytesReceived
        error.attempts = attempts
        return error
    }

    func refused(_ cause: any Error) -> TransferError {
        error(.refusedBySink, "the body could not be stored", cause: cause)
    }

    private func curlError(_ code: CURLcode) -> TransferError {
        if let addressRefusal, code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT, head == nil {
            return error(.addressRefused, addressRefusal)
        }
        let text = URLText.masked(handle?.lastError ?? "")
        let failure = CurlFailure(code, text: text, hasHead: head != nil, isRedirected: !hops.isEmpty)
        return error(failure.code, failure.message, isRetryable: failure.isRetryable)
    }

    // MARK: Time

    /// For how long a redirect's body is read, so that its connection can be used again.
    private static let redirectBodyTime = Duration.seconds(2)

    func isStalled(now: MonotonicTime) -> Bool {
        guard let handle, !isPaused else { return false }
        if let headBegan, collector.isInside, now - headBegan > stallTimeout { return true }
        if request.body != nil {
            let count = handle.offset(CURLINFO_SIZE_UPLOAD_T)
            if count != uploaded {
                uploaded = count
                lastActivity = now
            }
        }
        if let lastActivity {
            let limit = nextHop == nil ? stallTimeout : min(stallTimeout, Self.redirectBodyTime)
            return now - lastActivity > limit
        }
        // Until the request is sent, the connect time-out is libcurl's.
        let sent = handle.offset(CURLINFO_PRETRANSFER_TIME_T)
        return sent > 0 && now - requestStart > stallTimeout + .microseconds(sent)
    }

    func noteResponse() { hasReachedHost = true }

    func unpause(now: MonotonicTime) {
        guard isPaused, let handle else { return }
        isPaused = false
        isPacing = false
        lastActivity = now
        clibcurl_easy_pause(handle.easy, CURLPAUSE_CONT)
    }

    /// When to go on after a pause that keeps to the rate; once for each pause.
    func takeWakingTime() -> MonotonicTime? {
        guard isPacing, let pace, pace.next != wakingTime else { return nil }
        wakingTime = pace.next
        return pace.next
    }

    func report(now: MonotonicTime, force: Bool = false) {
        guard force || now - lastReport >= .milliseconds(100) else { return }
        lastReport = now
        events(.received(progressBase + received, total: progressTotal))
    }
}
