import DiskStore
import HTTPCaching

extension Fetcher {
    /// The request for the origin, with the reason why nothing stored was used.
    ///
    /// - Parameter count: How many stored responses there were. Those that are missing by now had a body that was gone or damaged.
    func explained(
        _ conditional: ConditionalRequest, _ resolved: ResolvedRequest, of count: Int
    ) -> ConditionalRequest {
        var conditional = conditional
        conditional.status.unusedReason = unusedReason(conditional.candidates, resolved, of: count)
        return conditional
    }

    private func unusedReason(
        _ candidates: [Candidate], _ resolved: ResolvedRequest, of count: Int
    ) -> UnusedReason? {
        if candidates.count < count { return .damaged }
        let reason = rules.unusedReason(
            resolved.cacheRequest, stored: candidates.map(\.record.response), now: now())
        guard reason == .missing, resolved.owner != nil, let key = resolved.keys(ofURL: resolved.url).last else {
            return reason
        }
        let isNobodys = (try? store.entries(for: key).isEmpty) == false
        return isNobodys ? .owner : .missing
    }
}
