import ConcurrencyPrimitives
import HTTPTypes

// The sources besides the one that the transfer began with.

/// The response to a source's HEAD, when that is no success.
struct SourceRefusal: Error {
    let result: TransferResult
}

extension SegmentedTransfer {
    /// The partial as a further source continues it: by the validator that it gives in response to HEAD, once.
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
        // The stream brings its part all the same, and starts over if it must.
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

    /// Reports what each further source has brought.
    func tellEnds() {
        for (index, source) in state.withLock({ $0.further }).enumerated() {
            if let ending = source.ending { request.furtherSources?.tell(index, ending) }
        }
    }

    /// The most connections to each source, for a planner; those that were put aside have none.
    func places(_ state: State, _ rules: SegmentPlanner.Rules) -> [Int] {
        [min(rules.mostConnections, state.mostConnections)]
            + state.further.map { $0.aside == nil ? min(rules.mostConnections, request.options.maxSegments) : 0 }
    }

    // MARK: Silence

    /// Asks the planner from time to time, also when no byte comes; only with further sources, which could bring the rest then.
    func startWatch() -> Task<Void, Never>? {
        guard request.furtherSources?.requests.isEmpty == false else { return nil }
        return Task {
            while (try? await Task.sleep(for: .seconds(1))) != nil { perform(state.withLock { next(&$0) }) }
        }
    }
}

extension Task<Void, Never>? {
    /// Ends a watch, so that nothing is started by it any more.
    func end() async {
        self?.cancel()
        await self?.value
    }
}

extension Result<TransferResult, TransferError> {
    /// The reason, in words, why a source's connection brought nothing more; `nil` for one that has ended as it should.
    var failureOfSource: String? {
        if isEndOfSegment { return nil }
        switch self {
        case .success(let result): return "answered \(result.head.status.code)"
        case .failure(let error): return error.cause is SegmentDifference ? "has another representation" : error.message
        }
    }
}
