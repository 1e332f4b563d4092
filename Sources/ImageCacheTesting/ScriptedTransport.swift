import ConcurrencyPrimitives
public import FoundationEssentials
import HTTPTypes
public import Transfer

/// A transport without a network: a script responds to each request.
///
///     let transport = ScriptedTransport { request in
///         request.path == "/logo.png" ? ScriptedResponse(.ok, [.cacheControl: "max-age=60"], body: png) : .failure(.connect)
///     }
///     var configuration = DownloadCache.Configuration()
///     configuration.transport = transport
///     let cache = try DownloadCache(directory: directory, configuration: configuration)
///     let file = try await cache.file(for: "https://example.com/logo.png")
///     #expect(transport.requests.count == 1)
///
/// Bodies may arrive in pieces, be cut, and wait for ``AsyncGate``s that the test opens. Cut bodies are resumed,
/// redirects followed, and attempts retried like in `TransferEngine`, but without delay. Time-outs, rates and limits
/// on concurrent transfers are not simulated: each transfer starts immediately.
public final class ScriptedTransport: HTTPTransport {
    private struct State {
        var requests: [ScriptedRequest] = []
        var transfers = 0
        var isShutDown = false
        var running: [Int: Task<Result<TransferResult, TransferError>, Never>] = [:]
        var totals = TransferTotals()
        var watchers: [Watcher] = []
    }

    private struct Watcher {
        let condition: @Sendable ([ScriptedRequest]) -> Bool
        let met = Promise<Void>()
    }

    let script: @Sendable (ScriptedRequest) -> ScriptedResponse
    let now: @Sendable () -> Date
    private let state = Locked(State())

    /// - Parameters:
    ///   - now: The wall clock; use `DownloadCache.Configuration.now`.
    ///   - script: Returns the response to each request; called on any thread.
    public init(
        now: @escaping @Sendable () -> Date = { Date() },
        _ script: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse
    ) {
        self.now = now
        self.script = script
    }

    /// All requests so far, in order, including each attempt and redirect.
    public var requests: [ScriptedRequest] { state.withLock { $0.requests } }

    public var totals: TransferTotals { state.withLock { $0.totals } }

    /// Waits until the requests satisfy `condition`, which is checked at each request, change of priority, and end of a
    /// transfer, or until the calling task is cancelled.
    @discardableResult
    public func requests(
        until condition: @escaping @Sendable ([ScriptedRequest]) -> Bool
    ) async -> [ScriptedRequest] {
        let watcher = state.withLock { state -> Watcher? in
            if condition(state.requests) { return nil }
            let watcher = Watcher(condition: condition)
            state.watchers.append(watcher)
            return watcher
        }
        _ = await watcher?.met.value()
        return requests
    }

    public func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        guard let transfer = begin() else {
            throw TransferError(.cancelled, url: request.url, "the transport was shut down")
        }
        let control = ScriptedControl(transport: self, transfer: transfer)
        let task = Task {
            let exchange = ScriptedExchange(
                transport: self, transfer: transfer, request: request, sink: sink, events: events, control: control)
            return await exchange.outcome()
        }
        control.attach(task)
        state.withLock { $0.running[transfer] = task }
        let outcome = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        end(transfer, outcome)
        return try outcome.get()
    }

    public func shutDown() async {
        let running = state.withLock { state in
            state.isShutDown = true
            return Array(state.running.values)
        }
        for task in running { task.cancel() }
        for task in running { _ = await task.value }
    }

    // MARK: Records

    private func begin() -> Int? {
        state.withLock { state in
            if state.isShutDown { return nil }
            state.transfers += 1
            return state.transfers
        }
    }

    func note(_ transfer: Int, _ request: TransferRequest, url: String, _ fields: HTTPFields) -> ScriptedRequest {
        change { state in
            let priority = state.requests.last { $0.transfer == transfer }?.priority ?? request.priority
            let received = ScriptedRequest(
                transfer: transfer, number: state.requests.count + 1, url: url, method: request.method, fields: fields,
                body: request.body, client: request.client, options: request.options, priority: priority)
            state.requests.append(received)
            state.totals.attempts += 1
            return received
        }
    }

    func noteBytes(_ count: Int) { state.withLock { $0.totals.bytesReceived += count } }

    func noteResume(_ count: Int64) {
        state.withLock { state in
            state.totals.resumes += 1
            state.totals.bytesResumed += Int(count)
        }
    }

    func prioritize(_ transfer: Int, _ priority: TransferPriority) {
        change { state in
            for index in state.requests.indices where state.requests[index].transfer == transfer {
                state.requests[index].priority = priority
            }
        }
    }

    private func end(_ transfer: Int, _ outcome: Result<TransferResult, TransferError>) {
        change { state in
            state.running[transfer] = nil
            let ending: ScriptedRequest.Ending =
                switch outcome {
                case .success: .finished
                case .failure(let error): .failed(error.code)
                }
            for index in state.requests.indices where state.requests[index].transfer == transfer {
                state.requests[index].ending = ending
            }
        }
    }

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, met) = state.withLock { state in
            let result = body(&state)
            let met = state.watchers.filter { $0.condition(state.requests) }
            if !met.isEmpty { state.watchers.removeAll { $0.condition(state.requests) } }
            return (result, met)
        }
        for watcher in met { watcher.met.fulfill(()) }
        return result
    }
}
