import ArgumentParser

/// The word that a shell completes, and the form in which it takes candidates for it.
///
/// Candidates come from servers: a URL may have any character. Accepted in the command line, each is one literal word.
struct CompletedWord {
    /// The word up to the cursor, without the shell's quoting.
    let typed: String
    /// The length in bytes of the part of ``typed`` that bash leaves as it is: its words end at `:`, `=` and `@`.
    private let kept: Int
    private let shell: CompletionShell?

    /// - Parameters:
    ///   - arguments: The words of the command line, as the shell divides it.
    ///   - index: The index of the completed one.
    ///   - prefix: That word up to the cursor.
    init(_ arguments: [String], at index: Int, prefix: String, for shell: CompletionShell?) {
        self.shell = shell
        guard shell == .bash else {
            (typed, kept) = (prefix, 0)
            return
        }
        var before: [Substring] = []
        var pieces = arguments.prefix(max(index, 0)).map { $0[...] }
        // A piece belongs to the word if one of it and its successor is a separator.
        var next = prefix[...]
        while let piece = pieces.popLast(), Self.isSeparator(piece) || Self.isSeparator(next) {
            before.insert(piece, at: 0)
            next = piece
        }
        if Self.isSeparator(prefix[...]) { before.append(prefix[...]) }
        let start = Self.unquoted(before.joined())
        kept = start.utf8.count
        typed = Self.isSeparator(prefix[...]) ? start : start + Self.unquoted(prefix)
    }

    /// The candidates that begin with the word, as the shell takes them.
    func offering(_ candidates: some Sequence<String>) -> [String] {
        candidates.lazy.filter(matches).map(offered)
    }

    /// A control character would be interpreted by the terminal, or end the candidate.
    func matches(_ candidate: String) -> Bool {
        candidate.utf8.starts(with: typed.utf8)
            && !candidate.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private func offered(_ candidate: String) -> String {
        switch shell {
        case .bash:
            let rest = String(decoding: candidate.utf8.dropFirst(kept), as: UTF8.self)
            // The generated script passes candidates to `compgen -W`, which expands them once.
            return "'" + Self.escaped(rest, where: Self.mayBeInterpreted, quote: #"\'\''"#) + "'"
        // The text after a colon would be a description.
        case .zsh: return Self.escaped(candidate, where: { $0 == ":" || $0 == "\\" })
        default: return candidate
        }
    }

    private static func isSeparator(_ piece: Substring) -> Bool {
        !piece.isEmpty && piece.allSatisfy { ":=@".contains($0) }
    }

    private static func unquoted(_ text: String) -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if !isEscaped, character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }

    /// True for a character that bash may take for something else than itself.
    private static func mayBeInterpreted(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII && !scalar.properties.isAlphabetic && !"0123456789_./:=@%+,-".unicodeScalars.contains(scalar)
    }

    /// The text with a backslash before each special character.
    ///
    /// - Parameter quote: The text in place of `'`.
    private static func escaped(
        _ text: String, where isSpecial: (Unicode.Scalar) -> Bool, quote: String = "'"
    ) -> String {
        // Not by characters, of which a quote with a combining mark is another one.
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "'" {
                result += quote
            } else {
                if isSpecial(scalar) { result += "\\" }
                result.unicodeScalars.append(scalar)
            }
        }
    }
}
