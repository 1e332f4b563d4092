import HTTPSemantics

/// One directive of `Cache-Control` (RFC 9111 section 5.2).
struct ScannedDirective {
    enum Argument {
        case none
        /// A token, or the content of a quoted string: a recipient accepts both forms.
        case value(ByteSlice)
        /// An argument that the grammar does not allow.
        case malformed
    }

    var name: ByteSlice
    var argument: Argument

    /// The argument of a directive that takes seconds. Invalid if there is none, or if it contains anything but digits.
    var seconds: DirectiveSeconds {
        guard case .value(let value) = argument, let seconds = DeltaSeconds.parse(value) else { return .invalid }
        return .seconds(seconds)
    }

    /// The argument of a directive that takes field names (`private`, `no-cache`), in lower case; `nil` if there is
    /// none, or if any part of it is not a field name, so that the directive applies to the whole response.
    var fieldNames: [String]? {
        guard case .value(let value) = argument else { return nil }
        var names: [String] = []
        var isValid = true
        forEachListMember(Bytes(rebasing: value)) { member in
            if member.allSatisfy(\.isTokenCharacter) {
                names.append(member.lowercasedString)
            } else {
                isValid = false
            }
        }
        return isValid && !names.isEmpty ? names : nil
    }
}

/// A directive's number of seconds.
public enum DirectiveSeconds: Sendable, Hashable {
    /// The directive does not occur.
    case absent
    /// Its value; at most 2,147,483,648 (RFC 9111 section 1.2.2).
    case seconds(Int)
    /// It occurs with an invalid number of seconds, or several times with different values.
    case invalid

    /// The value, if there is a valid one.
    public var value: Int? {
        if case .seconds(let seconds) = self { seconds } else { nil }
    }

    /// Merges several values of one directive: equal ones count as one. RFC 9111 section 4.2.1 allows a response with
    /// differing ones to be considered stale, which is the safe choice.
    mutating func merge(_ other: DirectiveSeconds) {
        if self == .absent {
            self = other
        } else if self != other {
            self = .invalid
        }
    }
}

/// Calls `body` with each directive of a `Cache-Control` field line. Anything that is not a directive is skipped.
func forEachDirective(_ bytes: Bytes, _ body: (ScannedDirective) -> Void) {
    var start = 0
    var quotesCount = true
    while start < bytes.count {
        let end = memberEnd(bytes, from: start, quotesCount: &quotesCount)
        let member = bytes[start..<end].trimmed
        start = end + 1
        var nameEnd = member.startIndex
        while nameEnd < member.endIndex, bytes[nameEnd].isTokenCharacter { nameEnd += 1 }
        guard nameEnd > member.startIndex else { continue }
        let name = member[member.startIndex..<nameEnd]
        let rest = member[nameEnd...]
        body(ScannedDirective(name: name, argument: argument(rest, in: bytes)))
    }
}

private func argument(_ rest: ByteSlice, in bytes: Bytes) -> ScannedDirective.Argument {
    guard let first = rest.first else { return .none }
    guard first == UInt8(ascii: "="), rest.count > 1 else { return .malformed }
    let value = rest.dropFirst()
    if value[value.startIndex] == UInt8(ascii: "\"") {
        guard let closing = closingQuote(bytes, after: value.startIndex), closing == value.endIndex - 1 else {
            return .malformed
        }
        return .value(bytes[(value.startIndex + 1)..<closing])
    }
    return value.allSatisfy(\.isTokenCharacter) ? .value(value) : .malformed
}
