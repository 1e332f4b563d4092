import ImageCacheTesting
import Transfer

/// Has some requests wait before another transport runs them; one that is cancelled meanwhile ends as such.
struct DelayedTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let wait: @Sendable (TransferRequest) async -> Void

    /// - Parameter base: nil: one that no request gets through.
    init(_ base: (any HTTPTransport)?, _ wait: @escaping @Sendable (TransferRequest) async -> Void) {
        self.base = base ?? ScriptedTransport { _ in .failure() }
        self.wait = wait
    }

    func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        await wait(request)
        if Task.isCancelled { throw TransferError(.cancelled, url: request.url, "cancelled") }
        return try await base.run(request, into: sink, events: events)
    }

    func shutDown() async { await base.shutDown() }
}
