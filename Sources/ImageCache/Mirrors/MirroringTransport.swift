import Digests
import HTTPSemantics
import HTTPTypes
import Transfer

/// Transfers a file from the first of its mirrors that serves it, by another transport.
struct MirroringTransport: HTTPTransport {
    let base: any HTTPTransport
    let mirrors: [Mirror]
    let integrity: BodyIntegrity
    /// The whole body's.
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
        let run = MirroredRun(self, request, sink, events)
        return try await run.outcome()
    }

    /// Nothing: the transport below is not its own.
    func shutDown() async {}
}

extension TransferRequest {
    /// The same request of another source. Credentials are the first origin's alone.
    func addressed(to url: String, isAlone: Bool) -> TransferRequest {
        var request = self
        request.url = url
        // Another source is asked sooner than the same one a third time.
        if !isAlone {
            request.options.retry.maxRetries = min(1, request.options.retry.maxRetries)
            request.options.retry.maxUnreachableRetries = 0
        }
        guard let own = try? HTTPURL(self.url), let other = try? HTTPURL(url), !own.hasSameOrigin(as: other) else {
            return request
        }
        request.options.credentials = nil
        for name in [HTTPField.Name.authorization, .cookie] { request.fields[name] = nil }
        return request
    }
}
