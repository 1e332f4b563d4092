import ConcurrencyPrimitives
import FoundationEssentials
import HTTPServer
import ImageCache

/// Caches failures of originals that are likely to last: 404, 410, 415 and 422. Each entry lasts a short time, or until the original
/// changes or is invalidated.
///
/// A change of the original is detected by its `OriginalState`.
final class NegativeResponses<OriginalState: Sendable>: Sendable {
    /// A cached failure.
    struct Known {
        let response: Response
        /// The remaining lifetime in whole seconds.
        let seconds: Int
        /// True if the original failed for all images. False if only this image failed, so that a stored image may still be served.
        let isOfOriginal: Bool
    }

    private struct Entry {
        let response: Response
        let state: OriginalState
        let begin: Date
        let end: Date
        /// The configuration in which the original failed.
        let rules: ImageRules.Identity
    }

    /// The original, or one image derived from it.
    private struct Key: Hashable {
        /// One image: its options including client hints, and its encoding, which depends on `Accept`.
        private struct Result: Hashable {
            let options: ImageOptions
            let encoding: ThumbnailEncoding
        }

        private let url: String
        private let owner: String?
        /// `nil`: all images of the original.
        private let result: Result?

        init(_ operation: ImageOperation, isOfOriginal: Bool) {
            url = operation.request.file.url
            owner = operation.request.file.owner
            result = isOfOriginal ? nil : Result(options: operation.options, encoding: operation.encoding)
        }
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The keys in the order of insertion; some may have been replaced.
        var order: [Key] = []
    }

    static var limit: Int { 4096 }
    static var statuses: Set<Int> { [404, 410, 415, 422] }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.entries.count } }

    /// - Parameter isCurrent: Returns true if the original has not changed since.
    func known(
        for operation: ImageOperation, _ rules: ImageRules, at now: Date,
        isCurrent: (OriginalState) -> Bool
    ) -> Known? {
        guard rules.negativeLifetime > 0 else { return nil }
        return state.withLock { state in
            guard !state.entries.isEmpty else { return nil }
            for isOfOriginal in [false, true] {
                let key = Key(operation, isOfOriginal: isOfOriginal)
                guard let entry = state.entries[key] else { continue }
                // Setting the clock back must not extend a lifetime.
                guard entry.begin <= now, now < entry.end, entry.rules === rules.identity, isCurrent(entry.state) else {
                    state.entries[key] = nil
                    continue
                }
                return Known(
                    response: entry.response, seconds: Int(entry.end.timeIntervalSince(now).rounded(.up)),
                    isOfOriginal: isOfOriginal)
            }
            return nil
        }
    }

    /// Caches a failure if its status is one of ``statuses``.
    ///
    /// - Returns: The seconds for which it is cached; 0 if it is not.
    @discardableResult
    func note(
        _ response: Response, of operation: ImageOperation, _ rules: ImageRules, _ state: OriginalState,
        at now: Date
    ) -> Int {
        guard rules.negativeLifetime > 0, Self.statuses.contains(response.head.status.code) else { return 0 }
        let entry = Entry(
            response: response, state: state, begin: now, end: now.addingTimeInterval(rules.negativeLifetime),
            rules: rules.identity)
        let key = Key(operation, isOfOriginal: !Self.dependsOnOptions(response))
        self.state.withLock { Self.keep(entry, for: key, in: &$0, at: now) }
        return Int(rules.negativeLifetime.rounded(.up))
    }

    /// Also records the failure of an original for one image that is not stored.
    func noteNothingStored(of operation: ImageOperation, at now: Date) {
        state.withLock { state in
            guard let entry = state.entries[Key(operation, isOfOriginal: true)] else { return }
            Self.keep(entry, for: Key(operation, isOfOriginal: false), in: &state, at: now)
        }
    }

    private static func keep(_ entry: Entry, for key: Key, in state: inout State, at now: Date) {
        if state.entries.updateValue(entry, forKey: key) == nil { state.order.append(key) }
        if state.entries.count > limit { shorten(&state, at: now) }
        if state.order.count > limit * 2 { state.order = state.order.filter { state.entries[$0] != nil } }
    }

    /// Removes expired entries, then the oldest ones, until three quarters are left.
    private static func shorten(_ state: inout State, at now: Date) {
        state.entries = state.entries.filter { now < $0.value.end }
        var surplus = state.entries.count - limit / 4 * 3
        state.order = state.order.filter { key in
            guard state.entries[key] != nil else { return false }
            guard surplus > 0 else { return true }
            surplus -= 1
            state.entries[key] = nil
            return false
        }
    }

    /// True if other options might succeed. Other sizes and effects may stay within the limits, and another format may use a working codec;
    /// the damaged frame may be one that is not needed; and an SVG may be passed through if there are no options.
    private static func dependsOnOptions(_ response: Response) -> Bool {
        [
            "image-too-large", "image-unfit", "image-damaged", "image-truncated", "image-crashed", "svg-unchanged",
        ].contains(response.error)
    }
}
