import HTTPTypes

/// Parses field lines (RFC 9112 section 5) and refuses forms that lenient parsers interpret differently: folded lines,
/// space before the colon, control characters.
enum FieldLines {
    /// The field of one line, given without its CRLF.
    static func field(_ line: Span<UInt8>) throws(RequestError) -> HTTPField {
        var colon = 0
        while colon < line.count, ByteClass.token.contains(line[colon]) { colon += 1 }
        if colon == 0, line.count > 0, line[0] == .space || line[0] == .tab {
            throw .bad("folded-field", "A field is folded over several lines.")
        }
        guard colon > 0, colon < line.count, line[colon] == .colon else {
            throw .bad("bad-field-name", "A field's name is not a token that is followed by a colon.")
        }
        var start = colon + 1
        var end = line.count
        while start < end, line[start] == .space || line[start] == .tab { start += 1 }
        while end > start, line[end - 1] == .space || line[end - 1] == .tab { end -= 1 }
        var isASCII = true
        for index in start..<end {
            guard line[index].isFieldContent else {
                throw .bad("bad-field-value", "A field's value contains a control character.")
            }
            if line[index] >= 0x80 { isASCII = false }
        }
        guard let name = HTTPField.Name(line.text(0..<colon)) else {
            throw .bad("bad-field-name", "A field's name is not a token that is followed by a colon.")
        }
        if isASCII { return HTTPField(name: name, value: line.text(start..<end)) }
        // obs-text is opaque and preserved byte by byte.
        return line.extracting(start..<end).withUnsafeBufferPointer { HTTPField(name: name, lenientValue: $0) }
    }

    /// The fields of a section that ends with its last line's CRLF: at most `limit`.
    static func fields(_ section: Span<UInt8>, limit: Int) throws(RequestError) -> HTTPFields {
        var fields = HTTPFields()
        var start = 0
        var index = 0
        var count = 0
        while index < section.count {
            guard section[index] == .lineFeed else {
                index += 1
                continue
            }
            count += 1
            guard count <= limit else {
                throw RequestError(
                    status: 431, code: "too-many-fields", message: "The request has more than \(limit) fields.")
            }
            fields.append(try field(section.extracting(start..<(index - 1))))
            index += 1
            start = index
        }
        return fields
    }
}
