import ArgumentParser
import FoundationEssentials
import ImageCache
import Units

/// The conditions of `--filter`: `size>1GB`, `age<=7d`, `used>30d`, `url~thumb`, joined by `,` (all must hold).
struct EntryFilter: Equatable, Sendable {
    /// The grammar, for help texts.
    static let grammar =
        "size, age, used with < <= = != >= >, or url with = != ~ (contains); several conditions joined by ','"

    enum Comparison: String, CaseIterable, Sendable {
        case atLeast = ">="
        case atMost = "<="
        case notEqual = "!="
        case contains = "~"
        case more = ">"
        case less = "<"
        case equal = "="

        func holds(_ left: Double, _ right: Double) -> Bool {
            switch self {
            case .atLeast: left >= right
            case .atMost: left <= right
            case .more: left > right
            case .less: left < right
            case .equal: left == right
            case .notEqual: left != right
            case .contains: false
            }
        }
    }

    enum Term: Equatable, Sendable {
        case size(Comparison, Double)
        /// Seconds since the body was stored.
        case age(Comparison, Double)
        /// Seconds since the last access.
        case used(Comparison, Double)
        case url(Comparison, String)
    }

    var terms: [Term]

    func matches(_ entry: CacheEntry, at now: Date) -> Bool {
        matches(
            size: entry.size, age: now.timeIntervalSince(entry.storedAt),
            used: now.timeIntervalSince(entry.lastAccessDate), url: entry.url)
    }

    func matches(_ partial: CachePartial, at now: Date) -> Bool {
        let idle = now.timeIntervalSince(partial.lastUsed)
        return matches(size: partial.received, age: idle, used: idle, url: partial.url)
    }

    func matches(size: Int64, age: Double, used: Double, url: String) -> Bool {
        terms.allSatisfy { term in
            switch term {
            case .size(let comparison, let value): comparison.holds(Double(size), value)
            case .age(let comparison, let value): comparison.holds(age, value)
            case .used(let comparison, let value): comparison.holds(used, value)
            case .url(.notEqual, let text): url != text
            case .url(.contains, let text): url.contains(text)
            case .url(_, let text): url == text
            }
        }
    }
}

extension EntryFilter: ExpressibleByArgument {
    init?(argument: String) {
        var terms: [Term] = []
        for text in argument.split(separator: ",") {
            let text = text.filter { $0 != " " }
            if case .url(let comparison, let start)? = terms.last, !Self.mayBeTerm(text) {
                // A URL may contain commas.
                terms[terms.count - 1] = .url(comparison, "\(start),\(text)")
                continue
            }
            guard let term = Self.term(text) else { return nil }
            terms.append(term)
        }
        guard !terms.isEmpty else { return nil }
        self.terms = terms
    }

    /// Returns true for a name and a comparison, also of a property that does not exist.
    private static func mayBeTerm(_ text: String) -> Bool {
        let rest = text.drop(while: \.isLetter)
        return rest.count < text.count && rest.first.map { "<>=!~".contains($0) } ?? false
    }

    private static func term(_ text: String) -> Term? {
        guard let start = text.firstIndex(where: { "<>=!~".contains($0) }) else { return nil }
        let rest = text[start...]
        guard let comparison = Comparison.allCases.first(where: { rest.hasPrefix($0.rawValue) }) else { return nil }
        let value = String(rest.dropFirst(comparison.rawValue.count))
        guard !value.isEmpty else { return nil }
        switch text[..<start] {
        case "url":
            guard [.equal, .notEqual, .contains].contains(comparison) else { return nil }
            return .url(comparison, value)
        case _ where comparison == .contains: return nil
        case "size": return ByteSize(text: value).map { .size(comparison, Double($0.bytes)) }
        case "age": return TimeSpan(argument: value).map { .age(comparison, $0.seconds) }
        case "used": return TimeSpan(argument: value).map { .used(comparison, $0.seconds) }
        default: return nil
        }
    }
}
