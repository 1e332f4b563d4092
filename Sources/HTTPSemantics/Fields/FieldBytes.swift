public import HTTPTypes

@usableFromInline package typealias Bytes = UnsafeBufferPointer<UInt8>
@usableFromInline package typealias ByteSlice = Slice<UnsafeBufferPointer<UInt8>>

extension Slice where Base == UnsafeBufferPointer<UInt8> {
    /// Returns true if it equals `name` (given in lower case), ignoring letter case.
    @inlinable package func isName(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { expected in
            var index = startIndex
            for byte in expected {
                guard self[index].lowercased == byte else { return false }
                index += 1
            }
            return true
        }
    }

    /// The bytes without optional whitespace at both ends.
    @inlinable package var trimmed: ByteSlice {
        var start = startIndex
        var end = endIndex
        while start < end, self[start].isWhitespace { start += 1 }
        while end > start, self[end - 1].isWhitespace { end -= 1 }
        return self[start..<end]
    }

    package var lowercasedString: String {
        String(decoding: self.map(\.lowercased), as: UTF8.self)
    }
}

/// Calls `body` with each member of a comma-separated list (RFC 9110 section 5.6.1), trimmed; empty ones are skipped.
/// Commas inside quoted strings do not separate members.
@inlinable package func forEachListMember(_ bytes: Bytes, _ body: (ByteSlice) -> Void) {
    var start = 0
    var quotesCount = true
    while start < bytes.count {
        let end = memberEnd(bytes, from: start, quotesCount: &quotesCount)
        let member = bytes[start..<end].trimmed
        if !member.isEmpty { body(member) }
        start = end + 1
    }
}

/// Returns the end of the list member that starts at `start`: a comma outside of quoted strings. An unclosed quote is
/// an ordinary character, so that it cannot hide the members behind it; so are all quotes after one, so that a line is
/// not searched repeatedly.
@inlinable package func memberEnd(_ bytes: Bytes, from start: Int, quotesCount: inout Bool) -> Int {
    var index = start
    while index < bytes.count, bytes[index] != UInt8(ascii: ",") {
        if quotesCount, bytes[index] == UInt8(ascii: "\"") {
            if let closing = closingQuote(bytes, after: index) { index = closing } else { quotesCount = false }
        }
        index += 1
    }
    return index
}

/// The position of the quote that closes the quoted string opened at `opening` (RFC 9110 section 5.6.4).
@inlinable package func closingQuote(_ bytes: Bytes, after opening: Int) -> Int? {
    var index = opening + 1
    while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "\""): return index
        case UInt8(ascii: "\\"): index += 2
        default: index += 1
        }
    }
    return nil
}

extension HTTPField.Name {
    /// Returns true if it equals `name` (given in lower case). The lengths are compared first: most names differ there.
    @inlinable package func isNamed(_ name: String) -> Bool {
        canonicalName.utf8.count == name.utf8.count && canonicalName == name
    }
}

extension HTTPFields {
    /// Calls `body` with each member of the list formed by all fields of that name.
    @inlinable package func forEachMember(of canonicalName: String, _ body: (ByteSlice) -> Void) {
        for field in self where field.name.isNamed(canonicalName) {
            field.withUnsafeBytesOfValue { forEachListMember($0, body) }
        }
    }

    /// The first field of that name, without joining several.
    @inlinable package func first(_ canonicalName: String) -> HTTPField? {
        first { $0.name.isNamed(canonicalName) }
    }
}

extension HTTPFields {
    /// The fields of one name that a message may contain once (RFC 9110 section 5.5).
    package enum Singleton: Equatable {
        case none
        /// The only one, or the first of several with the same value.
        case one(HTTPField)
        /// Several fields with different values.
        case contradictory

        package var field: HTTPField? {
            if case .one(let field) = self { field } else { nil }
        }
    }

    /// The field of a name that a message may contain once.
    package func singleton(_ canonicalName: String) -> Singleton {
        var result = Singleton.none
        for field in self where field.name.isNamed(canonicalName) {
            switch result {
            case .none: result = .one(field)
            case .one(let first) where first.hasSameBytes(as: field): break
            case .one, .contradictory: return .contradictory
            }
        }
        return result
    }
}

extension HTTPField {
    fileprivate func hasSameBytes(as other: HTTPField) -> Bool {
        withUnsafeBytesOfValue { bytes in other.withUnsafeBytesOfValue { bytes.elementsEqual($0) } }
    }
}
