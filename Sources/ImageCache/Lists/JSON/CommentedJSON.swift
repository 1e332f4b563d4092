/// JSON as people write it in configuration files: with comments (`//` to the end of the line, `/* */`), and commas after the last member.
package struct CommentedJSON: Sendable {
    /// The first mistake in a text. Lines and columns are counted from 1, columns in bytes.
    package struct Mistake: Error, Equatable, CustomStringConvertible {
        package let line: Int
        package let column: Int
        package let reason: String

        package var description: String { "line \(line), column \(column): \(reason)" }
    }

    /// The text without comments and such commas, as JSON (RFC 8259). Spaces are in their place, so that all else keeps its place.
    package let json: [UInt8]

    package init(_ text: some Sequence<UInt8>) throws(Mistake) {
        var bytes = Array(text)
        try Self.removeComments(from: &bytes)
        Self.removeLastCommas(from: &bytes)
        var validator = JSONValidator()
        for (place, byte) in bytes.enumerated() {
            do throws(JSONValidator.Fault) {
                // A number ends only before the byte that follows it.
                if try validator.next(byte) == .valueEndedBefore { _ = try validator.next(byte) }
            } catch {
                throw Self.mistake(at: place, in: bytes, error)
            }
        }
        guard validator.end() else { throw Self.mistake(at: bytes.count, in: bytes, "the text ends too early") }
        json = bytes
    }

    private static let newline = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")

    private static func removeComments(from bytes: inout [UInt8]) throws(Mistake) {
        var place = 0
        var isInString = false
        while place < bytes.count {
            let rest = bytes[place...]
            if isInString {
                if bytes[place] == UInt8(ascii: "\\") {
                    place += 1
                } else {
                    isInString = bytes[place] != UInt8(ascii: "\"")
                }
                place += 1
            } else if rest.starts(with: "//".utf8) {
                let end = rest.firstIndex(of: newline) ?? bytes.count
                for index in place..<end { bytes[index] = space }
                place = end
            } else if rest.starts(with: "/*".utf8) {
                var end = place + 2
                while end + 1 < bytes.count, !bytes[end...].starts(with: "*/".utf8) { end += 1 }
                guard end + 1 < bytes.count else { throw mistake(at: place, in: bytes, "the comment does not end") }
                for index in place..<end + 2 where bytes[index] != newline { bytes[index] = space }
                place = end + 2
            } else {
                isInString = bytes[place] == UInt8(ascii: "\"")
                place += 1
            }
        }
    }

    private static func removeLastCommas(from bytes: inout [UInt8]) {
        var comma: Int?
        var (isInString, isEscaped) = (false, false)
        var hasValue = false
        for (place, byte) in bytes.enumerated() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else {
                    isInString = byte != UInt8(ascii: "\"")
                }
                continue
            }
            switch byte {
            case space, newline, 0x0D, 0x09: continue
            case UInt8(ascii: ","):
                // A comma is the last only after a value.
                comma = hasValue ? place : nil
                hasValue = false
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if let comma { bytes[comma] = space }
                hasValue = true
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): hasValue = false
            default:
                isInString = byte == UInt8(ascii: "\"")
                hasValue = true
            }
            comma = nil
        }
    }

    private static func mistake(at place: Int, in bytes: [UInt8], _ fault: JSONValidator.Fault) -> Mistake {
        switch fault {
        case .tooDeep: mistake(at: place, in: bytes, "too many nested arrays and objects")
        case .unexpected(let byte) where (0x21...0x7E).contains(byte):
            mistake(at: place, in: bytes, "'\(Unicode.Scalar(byte))' is not expected here")
        case .unexpected: mistake(at: place, in: bytes, "this character is not expected here")
        }
    }

    private static func mistake(at place: Int, in bytes: [UInt8], _ reason: String) -> Mistake {
        let before = bytes[..<place]
        let start = before.lastIndex(of: newline).map { $0 + 1 } ?? 0
        return Mistake(line: before.count { $0 == newline } + 1, column: place - start + 1, reason: reason)
    }
}
