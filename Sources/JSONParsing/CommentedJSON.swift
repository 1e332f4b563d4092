/// JSON as people write it in configuration files: with comments (`//` to the end of the line, `/* */`), and commas after the last member.
package struct CommentedJSON: Sendable {
    /// The first error in a text. Lines and columns are counted from 1, columns in bytes.
    package struct SyntaxError: Error, Equatable, CustomStringConvertible {
        package let line: Int
        package let column: Int
        package let reason: String

        package var description: String { "line \(line), column \(column): \(reason)" }
    }

    /// The text without comments and such commas, as JSON (RFC 8259). Spaces are in their place, so that all else keeps its place.
    package let json: [UInt8]
    /// The place of the first name that occurs twice in an object, which parsers read differently; `nil` if there is none.
    package let repeatedName: SyntaxError?

    package init(_ text: some Sequence<UInt8>) throws(SyntaxError) {
        var bytes = Array(text)
        var validator = JSONValidator()
        /// A comma that nothing but spaces has followed yet, and the validator before it.
        var comma: (place: Int, before: JSONValidator)?
        var names = MemberNames()
        for place in bytes.indices {
            if !validator.isInString, let end = try Self.endOfComment(at: place, in: bytes) {
                for index in place..<end where bytes[index] != Self.newline { bytes[index] = Self.space }
            }
            let byte = bytes[place]
            if let last = comma, byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                bytes[last.place] = Self.space
                validator = last.before
            }
            let before = validator
            do throws(JSONValidator.Fault) {
                // A number ends only before the byte that follows it.
                if try validator.next(byte) == .valueEndedBefore { _ = try validator.next(byte) }
            } catch {
                throw Self.syntaxError(at: place, in: bytes, error)
            }
            names.note(place, in: bytes, before, validator)
            if byte == UInt8(ascii: ","), !before.isInString {
                comma = (place, before)
            } else if !JSONValidator.isSpace(byte) {
                comma = nil
            }
        }
        guard validator.end() else { throw Self.syntaxError(at: bytes.count, in: bytes, "the text ends too early") }
        json = bytes
        repeatedName = names.repeated.map {
            Self.syntaxError(at: $0.place, in: bytes, "\"\($0.name)\" is specified more than once")
        }
    }

    /// The names of the members of the open objects.
    private struct MemberNames {
        private(set) var repeated: (name: String, place: Int)?
        private var open: [Set<[UInt8]>] = []
        private var start = 0

        /// - Parameters:
        ///   - place: The place of a byte.
        ///   - before: The validator before the byte.
        ///   - after: The validator after the byte.
        mutating func note(_ place: Int, in bytes: [UInt8], _ before: JSONValidator, _ after: JSONValidator) {
            if after.depth > before.depth { open.append([]) }
            if after.depth < before.depth { open.removeLast() }
            if after.isInKey, !before.isInKey { start = place }
            guard before.isInKey, !after.isInKey, repeated == nil,
                let name = JSONText.string(bytes[start...place]), let last = open.indices.last
            else { return }
            if !open[last].insert(Array(name.utf8)).inserted { repeated = (name, start) }
        }
    }

    private static let newline = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")

    /// The end of a comment that begins at a place; `nil` if none does.
    private static func endOfComment(at place: Int, in bytes: [UInt8]) throws(SyntaxError) -> Int? {
        let rest = bytes[place...]
        if rest.starts(with: "//".utf8) { return rest.firstIndex(of: newline) ?? bytes.count }
        guard rest.starts(with: "/*".utf8) else { return nil }
        guard let end = rest.dropFirst(2).indices.first(where: { bytes[$0...].starts(with: "*/".utf8) }) else {
            throw syntaxError(at: place, in: bytes, "the comment does not end")
        }
        return end + 2
    }

    private static func syntaxError(at place: Int, in bytes: [UInt8], _ fault: JSONValidator.Fault) -> SyntaxError {
        switch fault {
        case .tooDeep: syntaxError(at: place, in: bytes, "too many nested arrays and objects")
        case .unexpected(let byte) where (0x21...0x7E).contains(byte):
            syntaxError(at: place, in: bytes, "'\(Unicode.Scalar(byte))' is not expected here")
        case .unexpected: syntaxError(at: place, in: bytes, "this character is not expected here")
        }
    }

    private static func syntaxError(at place: Int, in bytes: [UInt8], _ reason: String) -> SyntaxError {
        let before = bytes[..<place]
        let start = before.lastIndex(of: newline).map { $0 + 1 } ?? 0
        return SyntaxError(line: before.count { $0 == newline } + 1, column: place - start + 1, reason: reason)
    }
}
