import ConcurrencyPrimitives
import Foundation
import TestSupport

/// A server that lists ids for each user, brings their records, and remembers what it listed when.
final class ListOrigin: Sendable {
    struct Item: Sendable, Equatable {
        var id: Int
        var version: Int
    }

    struct Faults: Sendable {
        /// Ids that no page brings.
        var missing: Set<Int> = []
        /// Every so many-th page is answered with 503.
        var failsEvery: Int?
        /// Text that takes the place of the array, or of a page.
        var array: String?
        var page: String?
        /// Sent before a page's body.
        var pageDelay = 0
        var hasValidators = true
        /// The array has `Last-Modified` in place of an entity tag, and `If-Modified-Since` is answered with what changed.
        var sendsDeltas = false
    }

    private struct State {
        var lists: [String: [Item]] = [:]
        var faults = Faults()
        var pages = 0
        /// For each user and id, how often its record was asked for.
        var asked: [String: Int] = [:]
        /// The same for each version of a record.
        var askedVersions: [String: Int] = [:]
        /// Requests for a version of a record that was asked for before.
        var repeats = 0
        /// The users whose records the client is deleting: what it asks for again is no repeat.
        var forgetting: Set<String> = []
        /// The lists of each user, the present one last.
        var history: [String: [[Item]]] = [:]
    }

    private let state: Locked<State>
    let origin: ScriptedOrigin

    init() throws {
        let state = Locked(State())
        self.state = state
        origin = try ScriptedOrigin { request in Self.steps(for: request, state) }
    }

    func list(_ user: String = "ann") -> [Item] { state.withLock { $0.lists[user] ?? [] } }
    func setList(_ items: [Item], of user: String = "ann") {
        state.withLock { state in
            state.lists[user] = items
            state.history[user, default: []].append(items)
        }
    }
    func setFaults(_ change: @Sendable (inout Faults) -> Void) { state.withLock { change(&$0.faults) } }
    /// Returns the number of times that an id's record was asked for.
    func sent(_ id: Int, of user: String = "ann") -> Int { state.withLock { $0.asked["\(user)/\(id)"] ?? 0 } }
    var pages: Int { state.withLock { $0.pages } }
    /// Records that were asked for more than once in the same version, since their user was forgotten last.
    var repeats: Int { state.withLock { $0.repeats } }
    /// All records that a user's lists ever had, as text.
    func listed(_ user: String) -> Set<String> {
        let lists = state.withLock { $0.history[user] ?? [] }
        return Set(lists.joined().map { "\(user) \($0.id) version \($0.version)" })
    }
    /// The client begins to delete the user's records.
    func beginForgetting(_ user: String) { state.withLock { _ = $0.forgetting.insert(user) } }
    /// The user's records are gone from the client.
    func forget(_ user: String) {
        state.withLock { state in
            state.forgetting.remove(user)
            state.askedVersions = state.askedVersions.filter { !$0.key.hasPrefix("\(user)/") }
        }
    }

    func arguments(_ name: String = "inbox", user: String = "ann") -> [String] {
        [
            "sync", name, "--ids", origin.url("/\(user)/ids"), "--page", origin.url("/\(user)/page?ids={ids}"),
            "--owner",
            user, "--interval", "0", "--json", "--retry", "0",
        ]
    }

    static func record(_ item: Item, of user: String) -> String {
        #"{"id":\#(item.id),"text":"\#(user) \#(item.id) version \#(item.version)","file":"/file/\#(item.id)"}"#
    }

    private static func steps(for request: ReceivedRequest, _ state: Locked<State>) -> [OriginStep] {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count == 2 else { return page(404, "") }
        if parts[0] == "file" {
            return Behaviour(Representation(seed: UInt64(parts[1]) ?? 0, size: 30_000)).script(for: request)
        }
        return state.withLock { state in
            let user = parts[0]
            let items = state.lists[user] ?? []
            if parts[1] == "ids" {
                return state.faults.sendsDeltas
                    ? delta(state.history[user] ?? [], request) : array(items, request, state.faults)
            }
            state.pages += 1
            if let every = state.faults.failsEvery, state.pages % every == 0 { return page(503, "busy") }
            let query = request.target.split(separator: "=").last ?? ""
            let ids = Set(query.split(separator: ",").compactMap { Int($0) })
            for id in ids { state.asked["\(user)/\(id)", default: 0] += 1 }
            for item in items where ids.contains(item.id) && !state.forgetting.contains(user) {
                let version = "\(user)/\(item.id)/\(item.version)"
                state.repeats += state.askedVersions[version] == nil ? 0 : 1
                state.askedVersions[version, default: 0] += 1
            }
            let found = items.filter { ids.contains($0.id) && !state.faults.missing.contains($0.id) }
            let body = state.faults.page ?? "[" + found.map { record($0, of: user) }.joined(separator: ",\n") + "]"
            return (state.faults.pageDelay > 0 ? [.pause(milliseconds: state.faults.pageDelay)] : []) + page(200, body)
        }
    }

    private static func array(_ items: [Item], _ request: ReceivedRequest, _ faults: Faults) -> [OriginStep] {
        let elements = items.map { #"{"id":\#($0.id),"modified":\#($0.version)}"# }
        let body = faults.array ?? "[" + elements.joined(separator: ",") + "]"
        guard faults.hasValidators else { return page(200, body) }
        let etag = "\"\(SHA256.hex(of: Array(body.utf8)).prefix(16))\""
        if request["if-none-match"] == etag { return [.head(status: 304, fields: [("ETag", etag)])] }
        return page(200, body, [("ETag", etag)])
    }

    /// The changes since the list of a date; each list is a second newer than the one before.
    private static func delta(_ history: [[Item]], _ request: ReceivedRequest) -> [OriginStep] {
        let dates = history.indices.map { httpDate(Date(timeIntervalSince1970: 1_700_000_000 + Double($0))) }
        guard let now = history.last, let date = dates.last else { return page(200, "[]") }
        let known = request["if-modified-since"].flatMap { dates.firstIndex(of: $0) }
        if known == history.count - 1 { return [.head(status: 304, fields: [("Last-Modified", date)])] }
        let before = known.map { history[$0] } ?? []
        let changed = now.filter { !before.contains($0) }.map { #"{"id":\#($0.id),"modified":\#($0.version)}"# }
        let listed = Set(now.map(\.id))
        let deleted = before.filter { !listed.contains($0.id) }.map { #"{"id":\#($0.id),"deleted":true}"# }
        return page(200, "[" + (changed + deleted).joined(separator: ",") + "]", [("Last-Modified", date)])
    }

    private static func page(
        _ status: Int, _ body: String, _ fields: [(name: String, value: String)] = []
    ) -> [OriginStep] {
        let head: [(name: String, value: String)] = [
            ("Date", httpDate(Date())), ("Content-Type", "application/json"), ("Content-Length", "\(body.utf8.count)"),
        ]
        return [.head(status: status, fields: head + fields), .body(Array(body.utf8))]
    }
}
