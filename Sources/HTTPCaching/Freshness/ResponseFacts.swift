import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// The cache-related information in a response's fields, read in one pass.
struct ResponseFacts {
    enum Expires {
        case absent
        /// Not a date, which means already expired (RFC 9111 section 5.3).
        case invalid
        case at(Double)
    }

    var directives = ResponseDirectives()
    /// True if a targeted field replaced `Cache-Control` and `Expires` (RFC 9213 section 2.2).
    var isTargeted = false
    var expires = Expires.absent
    /// `Date` in seconds since 1970, or the time of receipt (RFC 9110 section 6.6.1).
    var date: Double
    var hasDate = false
    var lastModified: Double?
    /// `Age` in seconds; 0 if absent or invalid.
    var age = 0
    var hasVary = false
    var variesOnAnything = false

    init(_ fields: HTTPFields, receivedAt: Date, rules: CacheRules) {
        let received = receivedAt.secondsSince1970
        date = received
        var isFirstAge = true
        for field in fields {
            let name = field.name.canonicalName
            // Lengths are compared first: a decision reads every field, and most are irrelevant.
            switch name.utf8.count {
            case 3: if name == "age" { readAge(field, isFirst: &isFirstAge) }
            case 4:
                if name == "date" {
                    // An invalid Date is ignored; of several lines the first counts.
                    if !hasDate, let value = field.withUnsafeBytesOfValue({ HTTPDate.parse($0, now: received) }) {
                        date = value
                        hasDate = true
                    }
                } else if name == "vary" {
                    hasVary = true
                    if !variesOnAnything { variesOnAnything = field.withUnsafeBytesOfValue(ResponseFacts.hasStar) }
                }
            case 7:
                // Of several values the first is used: RFC 9111 section 4.2.1.
                if name == "expires", case .absent = expires {
                    let value = field.withUnsafeBytesOfValue { HTTPDate.parse($0, now: received) }
                    expires = value.map(Expires.at) ?? .invalid
                }
            case 13:
                if name == "cache-control" {
                    field.withUnsafeBytesOfValue { directives.read($0) }
                } else if name == "last-modified", lastModified == nil {
                    lastModified = field.withUnsafeBytesOfValue { HTTPDate.parse($0, now: received) }
                }
            default: break
            }
        }
        if !rules.targetedFieldNames.isEmpty,
            let targeted = ResponseDirectives(targeted: rules.targetedFieldNames, in: fields)
        {
            directives = targeted
            isTargeted = true
            expires = .absent
        }
    }

    private mutating func readAge(_ field: HTTPField, isFirst: inout Bool) {
        guard isFirst else { return }
        isFirst = false
        age = field.withUnsafeBytesOfValue { ResponseFacts.age($0) }
    }

    /// Reads the first value of a list and discards the rest; anything but a non-negative number is ignored: RFC 9111
    /// section 5.1.
    private static func age(_ bytes: Bytes) -> Int {
        let first = bytes.firstIndex(of: UInt8(ascii: ",")) ?? bytes.endIndex
        return DeltaSeconds.parse(bytes[..<first].trimmed) ?? 0
    }

    private static func hasStar(_ bytes: Bytes) -> Bool {
        var found = false
        forEachListMember(bytes) { if $0.count == 1, $0.first == UInt8(ascii: "*") { found = true } }
        return found
    }
}
