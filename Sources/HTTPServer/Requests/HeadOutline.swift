import NIOCore

/// The parts of a request's head as ranges of its bytes. They suffice to recognise a request without creating strings.
///
/// An outline exists only for heads that ``RequestReader`` also accepts, apart from the value of `Host`, and that never need the handler: a
/// complete HTTP/1.1 GET or HEAD of a path, with one `Host`, and without content, credentials, cache directives or closing of the
/// connection. ``RequestReader`` handles all others.
struct HeadOutline {
    struct Field {
        let name: Range<Int>
        /// Without white space around it.
        let value: Range<Int>
    }

    private(set) var isHead = false
    private(set) var target = 0..<0
    private(set) var host = 0..<0
    /// All fields, including `Host`.
    private(set) var fields: [Field] = []
    /// The fields of conditions and ranges, in their order.
    private(set) var conditions: [Field] = []
    /// The number of bytes, the empty line at the end included.
    private(set) var length = 0

    private let limits: RequestLimits
    /// The name of the field with the request's id, in lower case: its value is checked and sent back.
    private let idName: [UInt8]

    init(limits: RequestLimits, idName: String?) {
        self.limits = limits
        self.idName = (idName ?? "").utf8.map(\.lowercased)
    }

    /// Outlines the head at the beginning of `bytes`. Returns false if it is for ``RequestReader``.
    mutating func read(_ bytes: Span<UInt8>) -> Bool {
        fields.removeAll(keepingCapacity: true)
        conditions.removeAll(keepingCapacity: true)
        host = 0..<0
        guard var index = readRequestLine(bytes) else { return false }
        while index + 1 < bytes.count {
            if bytes[index] == .carriageReturn {
                length = index + 2
                return bytes[index + 1] == .lineFeed && !host.isEmpty && length <= limits.head
            }
            guard fields.count < limits.fields, let field = Self.field(bytes, &index), take(field, bytes) else {
                return false
            }
        }
        return false
    }

    /// `GET /path HTTP/1.1`. Returns the index of the next line.
    private mutating func readRequestLine(_ bytes: Span<UInt8>) -> Int? {
        guard bytes.count > 16 else { return nil }
        isHead = bytes[0] == UInt8(ascii: "H")
        guard bytes.hasBytes(isHead ? "HEAD " : "GET ", at: 0) else { return nil }
        let start = isHead ? 5 : 4
        guard bytes[start] == UInt8(ascii: "/") else { return nil }
        var end = start
        while end < bytes.count, ByteClass.target.contains(bytes[end]) { end += 1 }
        guard end - start <= limits.target, bytes.hasBytes(" HTTP/1.1\r\n", at: end) else { return nil }
        target = start..<end
        return end + 11
    }

    /// The field of the line that begins at `index`, which is moved to the next line.
    private static func field(_ bytes: Span<UInt8>, _ index: inout Int) -> Field? {
        let start = index
        while index < bytes.count, ByteClass.token.contains(bytes[index]) { index += 1 }
        let name = start..<index
        guard !name.isEmpty, index < bytes.count, bytes[index] == .colon else { return nil }
        index += 1
        while index < bytes.count, bytes[index] == .space || bytes[index] == .tab { index += 1 }
        let valueStart = index
        while index < bytes.count, bytes[index].isFieldContent { index += 1 }
        guard bytes.hasBytes("\r\n", at: index) else { return nil }
        var valueEnd = index
        while valueEnd > valueStart, bytes[valueEnd - 1] == .space || bytes[valueEnd - 1] == .tab { valueEnd -= 1 }
        index += 2
        return Field(name: name, value: valueStart..<valueEnd)
    }

    private enum Kind {
        case host, condition, other
        /// Its value may change more than the choice of a response.
        case decisive
    }

    private mutating func take(_ field: Field, _ bytes: Span<UInt8>) -> Bool {
        switch kind(of: field, bytes) {
        case .host:
            guard host.isEmpty, !field.value.isEmpty else { return false }
            host = field.value
        case .condition: conditions.append(field)
        case .other: break
        case .decisive: return false
        }
        fields.append(field)
        return true
    }

    private func kind(of field: Field, _ bytes: Span<UInt8>) -> Kind {
        func isName(_ name: StaticString) -> Bool { bytes.hasLetters(name, at: field.name) }
        switch field.name.count {
        case 4 where isName("host"): return .host
        case 5 where isName("range"): return .condition
        case 6 where isName("expect") || isName("pragma"): return .decisive
        case 8 where isName("if-range"): return .condition
        case 8 where isName("if-match"): return .decisive
        case 10 where isName("connection"):
            return bytes.hasLetters("keep-alive", at: field.value) ? .other : .decisive
        case 13 where isName("if-none-match"): return .condition
        case 13 where isName("cache-control") || isName("authorization"): return .decisive
        case 14 where isName("content-length"): return .decisive
        case 17 where isName("if-modified-since"): return .condition
        case 17 where isName("transfer-encoding"): return .decisive
        case 19 where isName("if-unmodified-since"): return .decisive
        default: return bytes.hasLetters(idName, at: field.name) ? .decisive : .other
        }
    }
}

extension UInt8 {
    /// ASCII letters in lower case, other bytes unchanged.
    var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

extension Span<UInt8> {
    /// True if `text` stands at an index.
    func hasBytes(_ text: StaticString, at index: Int) -> Bool {
        guard index + text.utf8CodeUnitCount <= count else { return false }
        return text.withUTF8Buffer { text in text.indices.allSatisfy { self[index + $0] == text[$0] } }
    }

    /// True if a range has these bytes, given in lower case, with letters of either case.
    func hasLetters(_ text: StaticString, at range: Range<Int>) -> Bool {
        guard text.utf8CodeUnitCount == range.count else { return false }
        return text.withUTF8Buffer { text in
            text.indices.allSatisfy { self[range.lowerBound + $0].lowercased == text[$0] }
        }
    }

    func hasLetters(_ text: [UInt8], at range: Range<Int>) -> Bool {
        text.count == range.count && text.indices.allSatisfy { self[range.lowerBound + $0].lowercased == text[$0] }
    }

    func hasBytes(_ bytes: [UInt8], at range: Range<Int>) -> Bool {
        bytes.count == range.count && bytes.indices.allSatisfy { self[range.lowerBound + $0] == bytes[$0] }
    }

    /// The bytes of a range.
    func bytes(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer { Array($0) }
    }
}
