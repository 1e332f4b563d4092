import ConcurrencyPrimitives

/// A cache of recently parsed request targets. The same few targets are requested repeatedly, and parsing one takes longer than finding its
/// image in memory.
final class ParsedTargets: Sendable {
    private struct Key: Hashable {
        var target: String
        var accept: String?
        var hints: ClientHints
    }

    private struct State {
        /// The rules used for parsing.
        var rules: ImageRules.Identity?
        var operations: [Key: ImageOperation] = [:]
    }

    private static let limit = 4096
    /// The length in bytes above which a target is not cached.
    private static let longest = 1024

    private let state = Locked(State())

    /// Returns the operation for a target, and parses it if it is not cached. Rejected targets are not cached.
    func operation(
        target: String, accept: String?, hints: ClientHints = ClientHints(), by rules: ImageRules, now: Int64
    ) throws(ImageRequestError) -> ImageOperation {
        let accepted = CollectionOfOne(accept ?? "")
        guard target.utf8.count + (accept?.utf8.count ?? 0) <= Self.longest else {
            return try rules.operation(target: target, accept: accepted, hints: hints, now: now)
        }
        let key = Key(target: target, accept: accept, hints: hints)
        let known = state.withLock { $0.rules === rules.identity ? $0.operations[key] : nil }
        if let known, known.expiry.map({ now <= $0 }) ?? true { return known }
        let operation = try rules.operation(target: target, accept: accepted, hints: hints, now: now)
        state.withLock { state in
            if state.rules !== rules.identity || state.operations.count >= Self.limit { state.operations = [:] }
            state.rules = rules.identity
            state.operations[key] = operation
        }
        return operation
    }
}
