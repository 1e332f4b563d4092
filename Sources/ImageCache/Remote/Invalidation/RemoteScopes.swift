import RemoteStore

/// The invalidations of many URLs at once that the fleet's log has: a value, without I/O.
///
/// An object carries the place in the log to which its writer knew them before it asked the origin (``RemoteStamp``). One that has not
/// reached an invalidation of its URL was, or may have been, requested before, and is not used.
struct RemoteScopes: Sendable, Hashable {
    /// Beyond so many, the older half becomes one of everything.
    static let maxCount = 256
    private static let formatVersion: UInt8 = 1

    /// All invalidations up to this place are known; nil: there is no log.
    private(set) var position: RemoteLogPosition?
    /// The number of the last entry with each.
    private var entries: [RemoteInvalidation: Int64] = [:]

    var count: Int { entries.count }

    /// The place of the last one that includes a URL; nil: none does.
    func last(matching url: String) -> RemoteLogPosition? {
        guard let position else { return nil }
        let last = entries.filter { $0.key.matcher(url) }.values.max()
        return last.map { RemoteLogPosition(log: position.log, entry: $0) }
    }

    // MARK: Learning

    /// Notes what a bell sums up.
    mutating func learn(_ bell: RemoteBell) {
        begin(bell.position.log)
        for (scope, entry) in Self.decode(bell) { add(scope, entry) }
        merge()
        position = position.map { $0.reaches(bell.position) ? $0 : bell.position } ?? bell.position
    }

    /// Notes an entry of the log; nil: it cannot be read, and may say anything.
    mutating func learn(_ batch: [RemoteInvalidation]?, at place: RemoteLogPosition) {
        begin(place.log)
        for scope in batch ?? [.everything] where scope.url == nil { add(scope, place.entry) }
        merge()
        guard let last = position else { return position = place.entry == 1 ? place : nil }
        if last.entry + 1 == place.entry { position = place }
    }

    /// A log is begun anew when the former one has expired, with all that it has invalidated.
    private mutating func begin(_ log: UInt32) {
        if let position, position.log != log { self = RemoteScopes() }
    }

    private mutating func add(_ scope: RemoteInvalidation, _ entry: Int64) {
        entries[scope] = max(entries[scope] ?? 0, entry)
    }

    /// Keeps the number of them within its limit: objects from before the middle one are of no use any more, whatever their URL.
    private mutating func merge() {
        if entries.count > Self.maxCount {
            let places = entries.values.sorted()
            add(.everything, places[places.count - Self.maxCount / 2])
        }
        guard let all = entries[.everything] else { return }
        entries = entries.filter { $0.key == .everything || $0.value > all }
    }

    // MARK: Coding

    /// The bell for a place in the log.
    static func bell(
        _ former: RemoteBell, _ entries: [(position: RemoteLogPosition, content: [UInt8]?)]
    ) -> RemoteBell {
        var scopes = RemoteScopes()
        scopes.learn(former)
        for (position, content) in entries {
            scopes.learn(content.flatMap { RemoteInvalidation.decode($0) }, at: position)
        }
        var writer = FieldWriter()
        writer.write(formatVersion)
        writer.write(length: scopes.count)
        for (scope, entry) in scopes.entries {
            scope.write(to: &writer)
            writer.write(entry)
        }
        return RemoteBell(entries.last?.position ?? former.position, summary: writer.bytes)
    }

    /// A bell that does not say, in a way that is known here, what was invalidated may stand for anything.
    private static func decode(_ bell: RemoteBell) -> [(RemoteInvalidation, Int64)] {
        guard let summary = bell.summary else { return [(.everything, bell.position.entry)] }
        return summary.isEmpty ? [] : decode(summary) ?? [(.everything, bell.position.entry)]
    }

    private static func decode(_ bytes: [UInt8]) -> [(RemoteInvalidation, Int64)]? {
        var reader = FieldReader(bytes)
        guard reader.readByte() == formatVersion, let count = reader.readLength(), count <= maxCount else { return nil }
        var found: [(RemoteInvalidation, Int64)] = []
        for _ in 0..<count {
            guard let scope = RemoteInvalidation(from: &reader), let entry = reader.readInt64() else { return nil }
            found.append((scope, entry))
        }
        return found
    }
}
