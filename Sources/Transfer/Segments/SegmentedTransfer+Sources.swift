import ConcurrencyPrimitives
import HTTPTypes

// The sources other than the one that the transfer began with.

/// The response of a source to HEAD, if it is not successful.
struct SourceRefusal: Error {
    let result: TransferResult
}

extension SegmentedTransfer {
    /// The partial for an additional source to resume, with the validator from its response to one HEAD.
    func basis(
        at source: Int, _ request: TransferRequest
    ) async throws(TransferError) -> Result<HeldPartial, SourceRefusal> {
        let (known, total) = state.withLock { state in
            state.further[source - 1].startedAt = state.further[source - 1].startedAt ?? now()
            return (state.further[source - 1].basis, state.total)
        }
        if let known, known.total == total { return .success(known) }
        var head = request
        head.method = .head
        let result = try await base.run(head, into: NoBody()) { self.tellOfSegment($0) }
        guard result.head.status == .ok else { return .failure(SourceRefusal(result: result)) }
        guard let basis = HeldPartial([], of: total, at: result.head) else {
            throw TransferError(
                .protocolViolation, url: request.url, "it has no strong validator, or another length",
                cause: SegmentDifference())
        }
        state.withLock { $0.further[source - 1].basis = basis }
        return .success(basis)
    }

    func putAside(_ source: Int, _ reason: FurtherSources.AsideReason) {
        // The stream still fetches its part, and restarts if necessary.
        if source == 0, reason == .differs { return }
        let failure: String? = state.withLock { state in
            guard source > 0 else { return nil }
            state.further[source - 1].aside = reason
            return state.further[source - 1].failure
        }
        let text =
            switch reason {
            case .late: "is far slower than others"
            case .failed: failure ?? "the connection failed"
            case .differs: failure ?? "has another representation"
            }
        request.furtherSources?.tell(source > 0 ? source - 1 : nil, .putAside(text, reason))
    }

    /// Reports the bytes that each additional source has sent.
    func tellEnds() {
        for (index, source) in state.withLock({ $0.further }).enumerated() {
            if let ending = source.ending { request.furtherSources?.tell(index, ending) }
        }
    }

    /// The largest number of connections to each source, for a planner; 0 for sources that were put aside.
    func places(_ state: State, _ rules: SegmentPlanner.Rules) -> [Int] {
        [min(rules.mostConnections, state.mostConnections)]
            + state.further.map { $0.aside == nil ? min(rules.mostConnections, request.options.maxSegments) : 0 }
    }

    // MARK: Silence

    /// Asks the planner every second, even if no byte arrives. Only with additional sources, which could then fetch the rest.
    func startWatch() -> Task<Void, Never>? {
        guard request.furtherSources?.requests.isEmpty == false else { return nil }
        return Task {
            while (try? await Task.sleep(for: .seconds(1))) != nil { perform(next()) }
        }
    }
}

extension Task<Void, Never>? {
    /// Ends a watch. It starts no connection after that.
    func end() async {
        self?.cancel()
        await self?.value
    }
}

extension Result<TransferResult, TransferError> {
    /// The reason, in words, why a source's connection failed; `nil` for one that ended as expected.
    var failureOfSource: String? {
        if isEndOfSegment { return nil }
        switch self {
        case .success(let result): return "answered \(result.head.status.code)"
        case .failure(let error): return error.cause is SegmentDifference ? "has another representation" : error.message
        }
    }
}
