package import DiskStore

/// Keys whose responses could not be stored or shared lately. Requests for such a key do not wait for each other: each asks the origin. A later
/// response that is storable, such as one to a request without a cookie, is stored and removes the key.
///
/// A response that could not be stored because of its request's credentials alone says nothing of requests without them.
package struct UncacheableKeys {
    private struct Place: Hashable {
        let key: EntryKey
        let hasCredentials: Bool
    }

    private static let life = Duration.seconds(120)
    private static let limit = 4096

    private var ends: [Place: ContinuousClock.Instant] = [:]

    package init() {}

    /// - Parameter isForCredentials: True if only requests with credentials are affected.
    package mutating func insert(_ key: EntryKey, isForCredentials: Bool = false, now: ContinuousClock.Instant) {
        if ends.count >= Self.limit { ends = ends.filter { $0.value > now } }
        if ends.count >= Self.limit { ends.removeAll() }
        ends[Place(key: key, hasCredentials: isForCredentials)] = now + Self.life
    }

    mutating func remove(_ key: EntryKey) {
        for hasCredentials in [false, true] { ends[Place(key: key, hasCredentials: hasCredentials)] = nil }
    }

    package func contains(_ key: EntryKey, hasCredentials: Bool = false, now: ContinuousClock.Instant) -> Bool {
        if ends.isEmpty { return false }
        func contains(_ hasCredentials: Bool) -> Bool {
            ends[Place(key: key, hasCredentials: hasCredentials)].map { $0 > now } ?? false
        }
        return contains(false) || hasCredentials && contains(true)
    }
}
