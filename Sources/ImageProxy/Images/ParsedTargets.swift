import ConcurrencyPrimitives

/// The operations that request targets were parsed as lately: the same few are asked for again and again, and reading one takes
/// longer than finding its image in memory.
final class ParsedTargets: Sendable {
    private struct Key: Hashable {
        var target: String
        var accept: String?
    }

    private struct State {
        /// The rules that they were read by.
        var rules: ImageRules.Identity?
        var operations: [Key: ImageOperation] = [:]
    }

    private static let limit = 4096
    /// Bytes; what is longer is read each time.
    private static let longest = 1024

    private let state = Locked(State())

    /// The order, read now if it is not known; what is refused is read each time.
    func operation(
        target: String, accept: String?, by rules: ImageRules, now: Int64
    ) throws(ImageRequestError) -> ImageOperation {
        let accepted = CollectionOfOne(accept ?? "")
        guard target.utf8.count + (accept?.utf8.count ?? 0) <= Self.longest else {
            return try rules.operation(target: target, accept: accepted, now: now)
        }
        let key = Key(target: target, accept: accept)
        let known = state.withLock { $0.rules === rules.identity ? $0.operations[key] : nil }
        if let known, known.expiry.map({ now <= $0 }) ?? true { return known }
        let operation = try rules.operation(target: target, accept: accepted, now: now)
        state.withLock { state in
            if state.rules !== rules.identity || state.operations.count >= Self.limit { state.operations = [:] }
            state.rules = rules.identity
            state.operations[key] = operation
        }
        return operation
    }
}
