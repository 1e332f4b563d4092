import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// The request for the transport, and the transport's events.
extension ResolvedRequest {
    /// The request for the transport.
    ///
    /// - Parameters:
    ///   - conditional: The conditions, and the fields that are meant for caches on the way.
    ///   - fetch: The fetch that it is sent for.
    func transferRequest(_ conditional: ConditionalRequest? = nil, for fetch: Fetch) -> TransferRequest {
        var request = TransferRequest(
            url: self.request.url, method: self.request.method, fields: self.request.fields, body: self.request.body,
            priority: self.request.priority, client: self.request.client, options: self.request.transfer)
        request.options.reportsHeads = !fetch.trace.isEmpty
        if self.request.integrity.asksForDigest { request.fields[.wantReprDigest] = DigestFields.wanted }
        if let since = self.request.changedSince { request.fields[.ifModifiedSince] = since }
        var conditions = HTTPFields()
        let stored = conditional?.storedURL
        for field in conditional?.fields ?? HTTPFields() {
            if stored != nil, field.name == .ifNoneMatch || field.name == .ifModifiedSince {
                conditions[field.name] = field.value
            } else {
                request.fields[field.name] = field.value
            }
        }
        request.conditions = conditions.isEmpty ? nil : stored.map { .init(fields: conditions, url: $0) }
        return request
    }

    func reportInterim(_ event: TransferEvent) {
        if case .interim(let status, let fields) = event {
            request.interim?(HTTPResponse(status: status, headerFields: fields.endToEnd()))
        }
    }

    func report(_ event: TransferEvent, to fetch: Fetch) {
        switch event {
        case .queued: fetch.report { $0.phase = .queued }
        case .attempt: fetch.report { $0.phase = .transferring }
        case .head(let head, let resumedFrom, let total):
            fetch.report { progress in
                progress.phase = .transferring
                progress.resumedFrom = resumedFrom
                progress.received = resumedFrom
                progress.total = total
                progress.hasResponse = true
                progress.contentDisposition = head.fields[.contentDisposition]
            }
        case .received(let bytes, let total):
            fetch.report { progress in
                progress.received = bytes
                progress.total = total ?? progress.total
            }
        case .restart(let reason):
            fetch.report { progress in
                progress.resumedFrom = 0
                progress.received = 0
            }
            fetch.trace.notify("* starting over: \(reason)\n")
        case .retrying(let delay, let reason):
            fetch.report { $0.phase = .retrying(after: delay, because: reason) }
            fetch.trace.notify("* \(reason); trying again in \(delay)\n")
        case .interim: reportInterim(event)
        case .requestHead(let lines): fetch.trace.notify(lines.map { "> \($0)\n" }.joined())
        case .responseHead(let lines): fetch.trace.notify(lines.map { "< \($0)\n" }.joined())
        }
    }
}
