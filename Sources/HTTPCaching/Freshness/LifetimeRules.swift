import HTTPSemantics
package import HTTPTypes

/// The lifetimes of an origin's responses: limits for all, and rules for some statuses and paths. The most specific match applies:
/// the rule with the longest path. For equal paths, a status precedes a class of statuses, and a class precedes none. For an error,
/// rules with a status precede all others. Limits that the rule leaves open are as for all.
package struct LifetimeRules: Sendable, Hashable {
    /// The limits for some responses.
    package struct Rule: Sendable, Hashable {
        package var times: [LifetimeSetting: Duration?] = [:]
        package var overridesPrivate = false

        package init() {}
    }

    private struct Entry: Sendable, Hashable {
        var pattern: ResponsePattern
        var limits: LifetimeLimits
        /// As ``limits``, with the times of the rule alone.
        var errorLimits: LifetimeLimits
    }

    private let general: LifetimeLimits
    /// The most specific first.
    private let entries: [Entry]

    package init(_ general: LifetimeLimits = LifetimeLimits(), _ rules: [ResponsePattern: Rule] = [:]) {
        self.general = general
        entries = rules.sorted { ResponsePattern.isMoreSpecific($0.key, $1.key) }.map { pattern, rule in
            var (limits, own) = (general, LifetimeLimits())
            own.longest = general.longest
            for (setting, time) in rule.times {
                limits[keyPath: setting.place] = time
                own[keyPath: setting.place] = time
            }
            limits.overridesPrivate = general.overridesPrivate || rule.overridesPrivate
            (own.overridesPrivate, own.coversErrors) = (limits.overridesPrivate, pattern.hasStatus)
            return Entry(pattern: pattern, limits: limits, errorLimits: own)
        }
    }

    package var isEmpty: Bool { general.isEmpty && entries.isEmpty }

    /// The limits of a response.
    ///
    /// - Parameters:
    ///   - path: The path at the origin, without a query; evaluated only if there are rules.
    ///   - status: The status; a 304 counts as the 200 that it confirms.
    package func limits(path: @autoclosure () -> String, status: HTTPResponse.Status) -> LifetimeLimits {
        if entries.isEmpty { return general }
        let path = path()
        let status = status == .notModified ? .ok : status
        let matching = entries.lazy.filter { $0.pattern.matches(path: path, status: status.code) }
        if status.kind == .successful { return matching.first?.limits ?? general }
        return (matching.first { $0.pattern.hasStatus } ?? matching.first)?.errorLimits ?? general
    }
}

/// A lifetime that an operator sets, by the name of its setting.
package enum LifetimeSetting: String, Sendable, CaseIterable {
    case usual = "default-ttl"
    case shortest = "min-ttl"
    case longest = "max-ttl"
    case stale = "stale-ttl"

    var place: WritableKeyPath<LifetimeLimits, Duration?> {
        switch self {
        case .usual: \.usual
        case .shortest: \.shortest
        case .longest: \.longest
        case .stale: \.stale
        }
    }
}

/// Responses by status and path: `404`, `5xx`, `/news/*`, `404 /news/*`. In a path, `*` matches any text.
package struct ResponsePattern: Sendable, Hashable {
    /// 404: 404...404; 4xx: 400...499; nil: all.
    private var statuses: ClosedRange<Int>?
    /// `nil`: all.
    private var path: NamePattern?
    /// The length of the path's pattern in bytes.
    private var length = 0

    /// Returns nil for text of another form.
    package init?(_ text: String) {
        var rest = text[...]
        if !rest.hasPrefix("/") {
            let word = rest.prefix { $0 != " " }
            guard let statuses = Self.statuses(word) else { return nil }
            self.statuses = statuses
            rest = rest[word.endIndex...].drop { $0 == " " }
            if rest.isEmpty { return }
        }
        guard rest.hasPrefix("/"), !rest.utf8.contains(where: { "?# ".utf8.contains($0) }) else { return nil }
        path = NamePattern(String(rest))
        length = rest.utf8.count
    }

    var hasStatus: Bool { statuses != nil }

    func matches(path: String, status: Int) -> Bool {
        statuses?.contains(status) != false && self.path?.matches(path) != false
    }

    static func isMoreSpecific(_ one: Self, _ other: Self) -> Bool {
        (one.length, -(one.statuses?.count ?? .max)) > (other.length, -(other.statuses?.count ?? .max))
    }

    private static func statuses(_ word: Substring) -> ClosedRange<Int>? {
        guard word.utf8.count == 3, let first = word.utf8.first, (0x31...0x35).contains(first) else { return nil }
        let hundreds = Int(first - 0x30) * 100
        if word.dropFirst() == "xx" { return hundreds...hundreds + 99 }
        return Int(word).map { $0...$0 }
    }
}
