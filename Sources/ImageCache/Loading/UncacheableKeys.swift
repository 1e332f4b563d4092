import DiskStore

/// Keys whose responses could not be stored or shared lately. Requests for such a key do not wait for each other: each asks the origin. A later
/// response that is storable, such as one to a request without a cookie, is stored and removes the key.
struct UncacheableKeys {
    private static let life = Duration.seconds(120)
    private static let limit = 4096

    private var ends: [EntryKey: ContinuousClock.Instant] = [:]

    mutating func insert(_ key: EntryKey, now: ContinuousClock.Instant) {
        if ends.count >= Self.limit { ends = ends.filter { $0.value > now } }
        if ends.count >= Self.limit { ends.removeAll() }
        ends[key] = now + Self.life
    }

    mutating func remove(_ key: EntryKey) { ends[key] = nil }

    func contains(_ key: EntryKey, now: ContinuousClock.Instant) -> Bool { ends[key].map { $0 > now } ?? false }
}
