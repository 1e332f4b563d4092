import ImageCache
import RemoteStore

/// The invalidations of several URLs in the fleet's log: a value without I/O.
///
/// An object has the position in the log up to which its writer knew the log before the request to the origin (``RemoteStamp``). If that
/// position is before an invalidation of its URL, the response may have been requested before it, and the object is not used.
struct RemoteScopes: Sendable, Hashable {
    /// The maximum number of scopes. Beyond it, an invalidation of everything replaces the older half.
    static let maxCount = 256
    private static let formatVersion: UInt8 = 1

    /// The position up to which all invalidations are known; nil if there is no log.
    private(set) var position: RemoteLogPosition?
    /// The number of the last entry with each scope.
    private var entries: [RemoteInvalidation: Int64] = [:]

    var count: Int { entries.count }

    /// The position of the last invalidation that includes a URL; nil if there is none.
    func last(matching url: String) -> RemoteLogPosition? {
        guard let position else { return nil }
        let last = entries.filter { $0.key.matcher(url) }.values.max()
        return last.map { RemoteLogPosition(log: position.log, entry: $0) }
    }

    // MARK: Learning

    /// Adds the summary of a log head.
    mutating func learn(_ logHead: LogHead) {
        begin(logHead.position.log)
        for (scope, entry) in Self.decode(logHead) { add(scope, entry) }
        merge()
        position = position.map { $0.reaches(logHead.position) ? $0 : logHead.position } ?? logHead.position
    }

    /// Adds an entry of the log; nil if it cannot be read, and may invalidate anything.
    mutating func learn(_ batch: [RemoteInvalidation]?, at place: RemoteLogPosition) {
        begin(place.log)
        for scope in batch ?? [.everything] where scope.url == nil { add(scope, place.entry) }
        merge()
        guard let last = position else { return position = place.entry == 1 ? place : nil }
        if last.entry + 1 == place.entry { position = place }
    }

    /// Starts again for a new log. It is only created when the former log has expired with all objects that it invalidated.
    private mutating func begin(_ log: UInt32) {
        if let position, position.log != log { self = RemoteScopes() }
    }

    private mutating func add(_ scope: RemoteInvalidation, _ entry: Int64) {
        entries[scope] = max(entries[scope] ?? 0, entry)
    }

    /// Limits the number of scopes, by invalidating all objects from before the middle one.
    private mutating func merge() {
        if entries.count > Self.maxCount {
            let places = entries.values.sorted()
            add(.everything, places[places.count - Self.maxCount / 2])
        }
        guard let all = entries[.everything] else { return }
        entries = entries.filter { $0.key == .everything || $0.value > all }
    }

    // MARK: Coding

    /// Makes the log head for a position in the log.
    static func logHead(
        _ former: LogHead, _ entries: [(position: RemoteLogPosition, content: [UInt8]?)]
    ) -> LogHead {
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
        return LogHead(entries.last?.position ?? former.position, summary: writer.bytes)
    }

    /// Decodes the summary of a log head. An unknown format may invalidate anything.
    private static func decode(_ logHead: LogHead) -> [(RemoteInvalidation, Int64)] {
        guard let summary = logHead.summary else { return [(.everything, logHead.position.entry)] }
        return summary.isEmpty ? [] : decode(summary) ?? [(.everything, logHead.position.entry)]
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
