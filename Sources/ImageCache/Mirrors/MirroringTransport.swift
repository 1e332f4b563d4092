import ConcurrencyPrimitives
import Digests
import HTTPSemantics
import HTTPTypes
import Transfer

/// Transfers a body from the first mirror that serves it, by means of another transport.
///
/// A request without mirrors is sent to its own origin alone. Only if that fails, the mirrors that the origin has announced are tried.
struct MirroringTransport: HTTPTransport {
    let base: any HTTPTransport
    let mirrors: [Mirror]
    let integrity: BodyIntegrity
    /// The digest of the whole body.
    let digest: Digest?
    let usesAnnouncedMirrors: Bool
    let rates: OriginRates
    let signatures: SignatureParameters
    let tell: @Sendable (MirrorEvent) -> Void

    var totals: TransferTotals { base.totals }

    func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        guard request.method == .get, request.body == nil else {
            return try await base.run(request, into: sink, events: events)
        }
        if mirrors.isEmpty, integrity.pieces == nil, integrity.size == nil {
            return try await runAtOrigin(request, into: sink, events: events)
        }
        return try await MirroredRun(self, request, sink, events).outcome()
    }

    /// Mirrors are needed only if the transfer from the origin alone fails after a head that may have announced some.
    private func runAtOrigin(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        let held = sink.held()?.heldBytes ?? 0
        let begun = Locked<(head: ResponseHead, resumedFrom: Int64)?>(nil)
        let outcome: Result<TransferResult, TransferError>
        do throws(TransferError) {
            let result = try await base.run(request, into: sink) { event in
                if case .head(let head, let resumedFrom, _) = event { begun.withLock { $0 = (head, resumedFrom) } }
                events(event)
            }
            if result.outcome != .status { return result }
            outcome = .success(result)
        } catch {
            if error.code == .cancelled || error.code == .refusedBySink { throw error }
            outcome = .failure(error)
        }
        guard let (head, resumedFrom) = begun.withLock({ $0 }) else { return try outcome.get() }
        let first = MirroredRun.First(outcome: outcome, head: head, resumedFrom: resumedFrom, held: held)
        return try await MirroredRun(self, request, sink, events, after: first).outcome()
    }

    /// Does nothing, because ``base`` is shared.
    func shutDown() async {}
}

extension TransferRequest {
    /// The request, sent to another source. Credentials and other secret fields are only sent to the original origin.
    func addressed(to url: String, isAlone: Bool) -> TransferRequest {
        var request = self
        request.url = url
        // Trying another source is faster than a third attempt at the same one.
        if !isAlone {
            request.options.retry.maxRetries = min(1, request.options.retry.maxRetries)
            request.options.retry.maxUnreachableRetries = 0
        }
        withholdCredentials(&request.fields, &request.options, of: self.url, from: url)
        return request
    }
}

extension FileRequest {
    /// The request, sent to another URL. Credentials and other secret fields are only sent to the original origin.
    package func addressed(to url: String) -> FileRequest {
        var request = self
        request.url = url
        var fields = fields
        withholdCredentials(&fields, &request.transfer, of: self.url, from: url)
        request.fields = fields
        return request
    }
}

/// Removes the credentials for the origin of a URL, and fields whose names say that they are secrets, from a request to another origin.
private func withholdCredentials(
    _ fields: inout HTTPFields, _ options: inout TransferOptions, of own: String, from other: String
) {
    if let own = try? HTTPURL(own), let other = try? HTTPURL(other), own.hasSameOrigin(as: other) { return }
    options.credentials = nil
    options.clientCertificate = nil
    fields.removeAll { SecretNames.isField($0.name.canonicalName) }
}
