import HTTPSemantics
import HTTPTypes
import Transfer

/// One transfer with all its attempts and redirects.
final class ScriptedExchange {
    private enum Next {
        case finished(TransferResult)
        case again
        /// Retries, if the request's policy allows it.
        case retry(TransferError)
        case retryStatus(TransferResult)
    }

    private let transport: ScriptedTransport
    private let transfer: Int
    private let request: TransferRequest
    private let sink: any BodySink
    private let events: @Sendable (TransferEvent) -> Void
    private let control: ScriptedControl

    private var held: HeldPartial?
    private var furthest: Int64 = 0
    private var resumedFrom: Int64 = 0
    private var bytesReceived: Int64 = 0
    private var attempts = 0
    private var restarts: [String] = []
    private var retry: RetryState
    private var provingTotal: Int64?
    private var isSinkOpen = false

    init(
        transport: ScriptedTransport, transfer: Int, request: TransferRequest, sink: any BodySink,
        events: @escaping @Sendable (TransferEvent) -> Void, control: ScriptedControl
    ) {
        self.transport = transport
        self.transfer = transfer
        self.request = request
        self.sink = sink
        self.events = events
        self.control = control
        retry = RetryState(policy: request.options.retry)
    }

    func outcome() async -> Result<TransferResult, TransferError> {
        do throws(TransferError) { return .success(try await run()) } catch { return .failure(error) }
    }

    private func run() async throws(TransferError) -> TransferResult {
        let url: HTTPURL
        do throws(InvalidURL) { url = try HTTPURL(request.url) } catch {
            throw self.error(.unsupportedURL, error.description)
        }
        sink.attach(control)
        events(.queued)
        loadPartial()
        furthest = held?.heldBytes ?? 0
        resumedFrom = furthest
        while true {
            attempts += 1
            events(.attempt(attempts))
            switch try await attempt(url) {
            case .finished(let result): return result
            case .again: continue
            case .retry(let error): if let note = giveUp() { throw error.adding(note) }
            case .retryStatus(var result):
                guard let note = giveUp() else { continue }
                result.retriesEnded = note
                return result
            }
        }
    }

    // MARK: One attempt

    /// The statuses of redirects that are followed, as by the engine.
    private static let redirects = [301, 302, 303, 307, 308]

    private func attempt(_ first: HTTPURL) async throws(TransferError) -> Next {
        let requestTime = transport.now()
        var (url, hops): (HTTPURL, [RedirectHop]) = (first, [])
        var request = request
        while true {
            let plan = plan(of: url, request.method)
            let asked = transport.note(
                transfer, request, url: url.text,
                fields(of: request, plan, url, isOwnOrigin: url.origin == first.origin))
            let response = transport.script(asked)
            await response.gate?.wait()
            try checkCancellation()
            if let code = response.failure {
                return .retry(error(code, "the script let it fail", isRetryable: true))
            }
            report(response.interim)
            if let location = response.fields[.location], Self.redirects.contains(response.status.code),
                request.options.maxRedirects > 0
            {
                hops.append(RedirectHop(url: url.text, status: response.status, fields: response.fields))
                guard hops.count <= request.options.maxRedirects else {
                    throw error(.tooManyRedirects, "more than \(request.options.maxRedirects) redirects")
                }
                do throws(InvalidURL) { url = try HTTPURL(reference: location, relativeTo: url) } catch {
                    throw self.error(.badRedirect, error.description)
                }
                if request.method.becomesGet(after: response.status.code) { request.becomeGet() }
                continue
            }
            let head = ResponseHead(
                status: response.status, fields: response.fields, finalURL: url.text, redirects: hops,
                requestTime: requestTime, responseTime: transport.now())
            return try await perform(plan.action(for: head), head, response, plan)
        }
    }

    private func plan(of url: HTTPURL, _ method: HTTPRequest.Method) -> ResumePlan {
        ResumePlan(
            method: method, fields: request.fields, held: held, mayResume: mayResume, url: url.text,
            hasConditions: !conditions(of: url).isEmpty, forwardsErrorResponses: request.options.forwardsErrorResponses,
            provingTotal: provingTotal)
    }

    private var mayResume: Bool {
        request.method == .get && request.body == nil && !request.options.acceptsContentCoding
            && !request.fields.contains(.range) && !request.fields.contains(.ifRange)
    }

    private func conditions(of url: HTTPURL) -> HTTPFields {
        guard let conditions = request.conditions,
            SignatureParameters.known.isSameResource(conditions.url, url.text)
        else { return HTTPFields() }
        return conditions.fields
    }

    private func fields(
        of request: TransferRequest, _ plan: ResumePlan, _ url: HTTPURL, isOwnOrigin: Bool
    ) -> HTTPFields {
        var fields = request.fields
        // As by the engine, see ``TransferRequest/fields``.
        if !isOwnOrigin { for name in [.authorization, .cookie, .host] as [HTTPField.Name] { fields[name] = nil } }
        for field in conditions(of: url) { fields[field.name] = field.value }
        if let range = plan.range { fields[.range] = "bytes=" + range }
        if let ifRange = plan.ifRange { fields[.ifRange] = ifRange }
        return fields
    }

    private func report(_ interim: [HTTPResponse]) {
        guard request.options.forwardsErrorResponses else { return }
        for response in interim { events(.interim(response.status, response.headerFields)) }
    }

    // MARK: The response

    private func perform(
        _ action: ResumeAction, _ head: ResponseHead, _ response: ScriptedResponse, _ plan: ResumePlan
    ) async throws(TransferError) -> Next {
        switch action {
        case .take(let placement, let length, let dropping):
            if let dropping { noteRestart(dropping) }
            return try await take(placement, length, head, response, plan)
        case .alreadyComplete(let total):
            try await tellSink { try self.sink.begin(head, .alreadyComplete(total: total)) }
            isSinkOpen = true
            events(.head(head, resumedFrom: total, total: total))
            try await closeSink(.complete)
            return .finished(result(head, .body))
        case .proveTotal(let total):
            provingTotal = total
            return .again
        case .restart(let reason):
            isSinkOpen = true
            try await closeSink(.discarded)
            noteRestart(reason)
            (resumedFrom, held, provingTotal) = (0, nil, nil)
            return .again
        case .notModified: return .finished(result(head, .notModified))
        case .status:
            let mayChange = !request.options.forwardsErrorResponses && RetryState.isRetryable(status: head.status.code)
            return mayChange ? .retryStatus(result(head, .status)) : .finished(result(head, .status))
        case .fail(let text): throw error(.protocolViolation, text)
        }
    }

    private func take(
        _ placement: BodyPlacement, _ length: Int64?, _ head: ResponseHead, _ response: ScriptedResponse,
        _ plan: ResumePlan
    ) async throws(TransferError) -> Next {
        var base: Int64 = 0
        var total: Int64? = length
        if case .range(_, let whole) = placement { (base, total) = (plan.held?.heldBytes ?? 0, whole) }
        if case .whole = placement { resumedFrom = 0 }
        if let limit = request.options.maxFileSize, let total, total > limit {
            throw error(.tooLarge, "the body of \(total) bytes is larger than the limit of \(limit) bytes")
        }
        try await tellSink { try self.sink.begin(head, placement) }
        isSinkOpen = true
        if base > 0 { transport.noteResume(base) }
        events(.head(head, resumedFrom: base, total: total))
        var received: Int64 = 0
        var isCut = false
        for step in response.body {
            switch step {
            case .wait(let gate): await gate.wait()
            case .cut: isCut = true
            case .bytes(let bytes):
                if let limit = request.options.maxFileSize, base + received + Int64(bytes.count) > limit {
                    try await closeSink(.cut)
                    throw error(.tooLarge, "the body is larger than the limit of \(limit) bytes")
                }
                try await tellSink { try await self.control.write(bytes, to: self.sink) }
                if Task.isCancelled { break }
                received += Int64(bytes.count)
                bytesReceived += Int64(bytes.count)
                transport.noteBytes(bytes.count)
                if !bytes.isEmpty { sink.writeBatchComplete() }
                events(.received(base + received, total: total))
            }
            if isCut || Task.isCancelled { break }
        }
        try checkCancellation()
        guard !isCut, length.map({ received == $0 }) ?? true else {
            try await closeSink(.cut)
            return .retry(error(.cut, "the connection ended before the body did", isRetryable: true))
        }
        try await closeSink(.complete)
        return hasFurtherRange(placement, plan) ? .again : .finished(result(head, .body))
    }

    /// Returns true if a range has come, and bytes after it are still missing.
    private func hasFurtherRange(_ placement: BodyPlacement, _ plan: ResumePlan) -> Bool {
        guard let before = plan.partialAfter(placement) else { return false }
        loadPartial()
        guard let held else { return false }
        return !held.missing.isEmpty && held.heldBytes > before.heldBytes
    }

    /// The reason to give up; `nil` if another attempt is made.
    private func giveUp() -> String? {
        guard request.options.retry.maxRetries > 0, request.method.isSafe else {
            return ""
        }
        guard sink.canRestart() else { return "the response was handed on, and cannot be continued" }
        loadPartial()
        provingTotal = nil
        let held = held?.heldBytes ?? 0
        let madeProgress = held > furthest
        furthest = max(furthest, held)
        let decision = retry.decide(madeProgress: madeProgress, retryAfter: nil, elapsed: .zero, random: 0)
        guard case .giveUp(let note) = decision else {
            events(.retrying(after: .zero, because: "the script let it fail"))
            return nil
        }
        return note ?? ""
    }

    // MARK: The sink

    private func loadPartial() { held = mayResume ? sink.held() : nil }

    private func tellSink(_ call: () async throws -> Void) async throws(TransferError) {
        do { try await call() } catch {
            if isSinkOpen {
                isSinkOpen = false
                try? sink.end(.cut)
            }
            throw self.error(.refusedBySink, "the body could not be stored", cause: error)
        }
    }

    private func closeSink(_ ending: AttemptEnding) async throws(TransferError) {
        guard isSinkOpen else { return }
        isSinkOpen = false
        try await tellSink { try self.sink.end(ending) }
    }

    private func checkCancellation() throws(TransferError) {
        guard Task.isCancelled else { return }
        if isSinkOpen {
            isSinkOpen = false
            try? sink.end(.cut)
        }
        throw error(.cancelled, "the transfer was cancelled")
    }

    // MARK: Results

    private func noteRestart(_ reason: String) {
        restarts.append(reason)
        events(.restart(reason))
    }

    private func result(_ head: ResponseHead, _ outcome: TransferResult.Outcome) -> TransferResult {
        TransferResult(
            head: head, outcome: outcome, bytesReceived: bytesReceived,
            resumedFrom: outcome == .body ? resumedFrom : 0, attempts: attempts, restarts: restarts)
    }

    private func error(
        _ code: TransferError.Code, _ message: String, cause: (any Error)? = nil, isRetryable: Bool = false
    ) -> TransferError {
        var error = TransferError(code, url: request.url, message, cause: cause, isRetryable: isRetryable)
        error.bytesReceived = bytesReceived
        error.attempts = attempts
        return error
    }
}

extension TransferRequest {
    /// Drops the content and the fields about it, as the engine does after a redirect.
    fileprivate mutating func becomeGet() {
        if body != nil {
            for name in [.contentType, .contentEncoding, .contentLanguage, .contentLocation] as [HTTPField.Name] {
                fields[name] = nil
            }
        }
        (method, body) = (.get, nil)
    }
}

extension TransferError {
    fileprivate func adding(_ note: String) -> TransferError {
        var error = self
        if !note.isEmpty { error.message += " (\(note))" }
        return error
    }
}
