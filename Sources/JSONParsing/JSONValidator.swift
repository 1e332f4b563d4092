/// The grammar of JSON (RFC 8259) as a state machine over bytes. Its only memory is the stack of open arrays and objects.
struct JSONValidator {
    /// An error in a text.
    enum Fault: Error, Equatable {
        case unexpected(UInt8)
        case tooDeep
    }

    /// The role of a byte.
    enum Event {
        case inside
        /// A value begins with this byte.
        case valueBegan
        /// A value ends with this byte.
        case valueEnded
        /// A number ended before this byte, which must be passed again.
        case valueEndedBefore
    }

    private enum State: Equatable {
        case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd
        case string, escape, hexadecimal(Int)
        case literal(StaticLiteral, Int)
        case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits
        case done
    }

    private enum StaticLiteral: Equatable {
        case true_, false_, null_
        var rest: [UInt8] {
            switch self {
            case .true_: Array("rue".utf8)
            case .false_: Array("alse".utf8)
            case .null_: Array("ull".utf8)
            }
        }
    }

    private static let deepest = 256

    private var state = State.value
    private var isKey = false
    /// For each open container: true for an object.
    private var open: [Bool] = []

    /// The number of open arrays and objects.
    var depth: Int { open.count }
    var isInKey: Bool { isKey }
    var isInString: Bool {
        switch state {
        case .string, .escape, .hexadecimal: true
        default: false
        }
    }
    /// True after a complete value; only white space may follow.
    var isDone: Bool { state == .done }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    mutating func next(_ byte: UInt8) throws(Fault) -> Event {
        switch state {
        case .string:
            if byte == UInt8(ascii: "\"") { return endString() }
            if byte == UInt8(ascii: "\\") { state = .escape } else if byte < 0x20 { throw .unexpected(byte) }
            return .inside
        case .escape:
            if byte == UInt8(ascii: "u") {
                state = .hexadecimal(4)
            } else if #"""\/bfnrt"""#.utf8.contains(byte) {
                state = .string
            } else {
                throw .unexpected(byte)
            }
            return .inside
        case .hexadecimal(let left):
            guard byte.isHexadecimalDigit else { throw .unexpected(byte) }
            state = left == 1 ? .string : .hexadecimal(left - 1)
            return .inside
        case .literal(let literal, let index):
            let rest = literal.rest
            guard byte == rest[index] else { throw .unexpected(byte) }
            if index + 1 < rest.count {
                state = .literal(literal, index + 1)
                return .inside
            }
            return endValue()
        case .minus, .zero, .integer, .point, .fraction, .exponent, .exponentSign, .exponentDigits:
            return try number(byte)
        default:
            return Self.isSpace(byte) ? .inside : try structure(byte)
        }
    }

    /// Ends the text, and with it a number at its end. Returns false if the text is incomplete.
    mutating func end() -> Bool {
        switch state {
        case .zero, .integer, .fraction, .exponentDigits: _ = endValue()
        default: break
        }
        return isDone
    }

    private mutating func structure(_ byte: UInt8) throws(Fault) -> Event {
        switch (state, byte) {
        case (.valueOrEnd, UInt8(ascii: "]")), (.keyOrEnd, UInt8(ascii: "}")): return close()
        case (.commaOrEnd, UInt8(ascii: "]")) where open.last == false: return close()
        case (.commaOrEnd, UInt8(ascii: "}")) where open.last == true: return close()
        case (.commaOrEnd, UInt8(ascii: ",")):
            state = open.last == true ? .key : .value
            return .inside
        case (.colon, UInt8(ascii: ":")):
            state = .value
            return .inside
        case (.key, UInt8(ascii: "\"")), (.keyOrEnd, UInt8(ascii: "\"")):
            (state, isKey) = (.string, true)
            return .inside
        case (.value, _), (.valueOrEnd, _):
            try begin(byte)
            return .valueBegan
        default: throw .unexpected(byte)
        }
    }

    private mutating func begin(_ byte: UInt8) throws(Fault) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard open.count < Self.deepest else { throw .tooDeep }
            open.append(byte == UInt8(ascii: "{"))
            state = byte == UInt8(ascii: "{") ? .keyOrEnd : .valueOrEnd
        case UInt8(ascii: "\""): state = .string
        case UInt8(ascii: "t"): state = .literal(.true_, 0)
        case UInt8(ascii: "f"): state = .literal(.false_, 0)
        case UInt8(ascii: "n"): state = .literal(.null_, 0)
        case UInt8(ascii: "-"): state = .minus
        case UInt8(ascii: "0"): state = .zero
        case _ where Self.isDigit(byte): state = .integer
        default: throw .unexpected(byte)
        }
    }

    private mutating func number(_ byte: UInt8) throws(Fault) -> Event {
        let isDigit = Self.isDigit(byte)
        let isExponent = byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
        switch state {
        case .minus where isDigit: state = byte == UInt8(ascii: "0") ? .zero : .integer
        case .integer where isDigit, .fraction where isDigit, .exponentDigits where isDigit: break
        case .zero where byte == UInt8(ascii: "."), .integer where byte == UInt8(ascii: "."): state = .point
        case .point where isDigit: state = .fraction
        case .zero where isExponent, .integer where isExponent, .fraction where isExponent: state = .exponent
        case .exponent where byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"): state = .exponentSign
        case .exponent where isDigit, .exponentSign where isDigit: state = .exponentDigits
        case .zero where !isDigit, .integer, .fraction, .exponentDigits:
            _ = endValue()
            return .valueEndedBefore
        default: throw .unexpected(byte)
        }
        return .inside
    }

    private mutating func endString() -> Event {
        guard isKey else { return endValue() }
        (state, isKey) = (.colon, false)
        return .inside
    }

    private mutating func close() -> Event {
        open.removeLast()
        return endValue()
    }

    private mutating func endValue() -> Event {
        state = open.isEmpty ? .done : .commaOrEnd
        return .valueEnded
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}
