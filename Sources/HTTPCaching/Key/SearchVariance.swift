import Digests
import HTTPSemantics
public import HTTPTypes
import RawStructuredFieldValues

/// The parameters of a query that a response does not vary on, by its field `No-Vary-Search`
/// (draft-ietf-httpbis-no-vary-search-10).
///
/// URLs that are equivalent by it are answered with one stored response: those with the same scheme, host, port and path, whose
/// parameters are equal as form data, without those that do not count, and sorted by name where the order does not.
public struct SearchVariance: Sendable, Hashable {
    private enum Parameters: Hashable, Sendable {
        /// All but these count.
        case without(Set<[UInt8]>)
        /// Only these count.
        case only(Set<[UInt8]>)
    }

    private let parameters: Parameters
    private let isOrdered: Bool

    /// The variance of a response. `nil` if every difference counts, because the field is missing, invalid or too long.
    ///
    /// In addition to the draft's current form with `params` or `except`, the form that browsers shipped is accepted: `params` as a
    /// boolean, alone or with `except`.
    public init?(_ fields: HTTPFields) {
        guard let value = StructuredField.joined("no-vary-search", in: fields) else { return nil }
        var parser = StructuredFieldValueParser(value)
        guard let members = try? parser.parseDictionaryFieldValue() else { return nil }
        var isOrdered = true
        if let order = members["key-order"] {
            guard let isUnordered = order.flag else { return nil }
            isOrdered = !isUnordered
        }
        let parameters: Parameters
        switch (members["params"], members["except"]) {
        case (nil, nil): parameters = .without([])
        case (let all?, nil):
            if let names = all.names {
                parameters = .without(names)
            } else {
                guard let ignoresAll = all.flag else { return nil }
                parameters = ignoresAll ? .only([]) : .without([])
            }
        case (let all, let except?):
            guard all == nil || all?.flag == true, let names = except.names else { return nil }
            parameters = .only(names)
        }
        if isOrdered, parameters == .without([]) { return nil }
        self.isOrdered = isOrdered
        self.parameters = parameters
    }

    /// The variance that ``text`` wrote; `nil` for any other text.
    init?(text: Substring) {
        var rest = text.utf8[...]
        guard let order = rest.popFirst(), order == UInt8(ascii: "o") || order == UInt8(ascii: "u"),
            let kind = rest.popFirst()
        else { return nil }
        let names = Set(rest.split(separator: UInt8(ascii: "&")).map { FormData.decoded($0) })
        isOrdered = order == UInt8(ascii: "o")
        switch kind {
        case UInt8(ascii: "-"): parameters = .without(names)
        case UInt8(ascii: "+"): parameters = .only(names)
        default: return nil
        }
    }

    /// A text that is equal for equal variances, of visible ASCII without a space.
    var text: String {
        let (kind, names): (String, Set<[UInt8]>) =
            switch parameters {
            case .without(let names): ("-", names)
            case .only(let names): ("+", names)
            }
        return (isOrdered ? "o" : "u") + kind + names.map(FormData.encoded).sorted().joined(separator: "&")
    }

    /// The URL that all equivalent ones have in common.
    ///
    /// - Parameter url: A normalised URL.
    public func canonical(_ url: String) -> String {
        let (place, query) = URLSearchPart.split(url)
        guard let query else { return place }
        var pairs = FormData.pairs(of: query).filter { counts($0.name) }
        if !isOrdered {
            // Any order will do that both sides have in common; Swift's sort is stable.
            pairs.sort { $0.name.lexicographicallyPrecedes($1.name) }
        }
        if pairs.isEmpty { return place }
        let text = pairs.map { "\(FormData.encoded($0.name))=\(FormData.encoded($0.value))" }
        return place + "?" + text.joined(separator: "&")
    }

    /// Returns true if a response with this variance to a request for one URL answers a request for the other.
    public func isEquivalent(_ one: String, _ other: String) -> Bool {
        one.utf8.elementsEqual(other.utf8) || canonical(one).utf8.elementsEqual(canonical(other).utf8)
    }

    private func counts(_ name: [UInt8]) -> Bool {
        switch parameters {
        case .without(let names): !names.contains(name)
        case .only(let names): names.contains(name)
        }
    }
}

/// A URL in two: what stands before its query, and that.
enum URLSearchPart {
    static func split(_ url: String) -> (place: String, query: Substring?) {
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (url, nil) }
        return (String(url[..<mark]), url[url.utf8.index(after: mark)...])
    }
}

/// `application/x-www-form-urlencoded` (WHATWG URL section 5). Names and values are bytes: no two spellings of a letter are equal.
enum FormData {
    static func pairs(of query: Substring) -> [(name: [UInt8], value: [UInt8])] {
        query.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (decoded(pair[..<end]), decoded(pair[end...].dropFirst()))
        }
    }

    /// Bytes that are not UTF-8 become U+FFFD.
    static func decoded(_ text: Substring.UTF8View) -> [UInt8] {
        let spaced = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return Array(String(decoding: PercentEncoding.decoded(spaced), as: UTF8.self).utf8)
    }

    static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if byte.isUnreserved { text.append(byte) } else { PercentEncoding.append(byte, to: &text) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension ItemOrInnerList {
    /// The boolean; `nil` for anything else.
    fileprivate var flag: Bool? {
        guard case .item(let item) = self, case .bool(let value) = item.rfc9651BareItem else { return nil }
        return value
    }

    /// The strings of a list, as names of parameters; `nil` for anything else.
    fileprivate var names: Set<[UInt8]>? {
        guard case .innerList(let list) = self else { return nil }
        var names: Set<[UInt8]> = []
        for item in list.bareInnerList {
            guard case .string(let text) = item.rfc9651BareItem else { return nil }
            names.insert(FormData.decoded(Substring(text).utf8))
        }
        return names
    }
}

extension CacheRules {
    /// The place of a response that does not vary on all of its query, among the variants of its URL without the query: a group, which
    /// says what it varies on, a line break and a SHA-256 of the values. `nil` for `Vary: *`, and for a response that varies on
    /// all of the query.
    ///
    /// - Parameters:
    ///   - stored: The response.
    ///   - url: The URL that it is stored under.
    public func searchVariant(of stored: StoredResponse, url: String) -> String? {
        guard let variance = SearchVariance(stored.fields), let variant = variantKey(of: stored) else { return nil }
        let names = variant.prefix { $0 != "\n" }
        return CacheRules.searchVariant(variance, url, names: names, variant)
    }

    /// The variant that would answer a request, if the response varies on the same fields as a group.
    public static func searchVariant(group: Substring, url: String, fields: HTTPFields) -> String {
        let parts = group.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let variance = SearchVariance(text: parts[0]) else { return "" }
        return searchVariant(variance, url, names: parts[1], variantKey(parts[1], of: fields))
    }

    private static func searchVariant(
        _ variance: SearchVariance, _ url: String, names: Substring, _ variant: String
    ) -> String {
        let digest = ShortSHA256.digest(of: Array((variance.canonical(url) + "\n" + variant).utf8)).hexadecimal
        return "\(variance.text) \(names)\n\(digest)"
    }
}
