import Digests

/// The keys of a key file, in order: the first one signs unless another is named, and each of them verifies.
///
/// The file has one key a line, `id:base64`; empty lines and lines that begin with `#` are ignored. To rotate keys:
/// insert the new key as the first, reload the services that verify, and remove the old one when its signatures have
/// expired.
///
///     # made by: echo "2026-11:$(openssl rand -base64 32)"
///     2026-11:7dWM2v0PyX0lFv0mGDFoTzqcG0W9XV1pA0bqgfKJ8Xk=
///     2026-05:uX1m0QpYxq2pYl5sO2x4mXv9x5S0k7r3mN8d1eQ2wzA=
package struct SigningKeys: Sendable, Equatable {
    package let all: [SigningKey]
    let first: SigningKey
    /// The id of the key that signs by default.
    package var firstID: String { first.id }

    /// - Throws: ``SigningKeyError`` if there is no key, or two have the same id.
    package init(_ keys: [SigningKey]) throws(SigningKeyError) {
        guard let first = keys.first else { throw SigningKeyError("contains no key") }
        for (index, key) in keys.enumerated() where keys[..<index].contains(where: { $0.id == key.id }) {
            throw SigningKeyError("there are two keys named \(key.id)")
        }
        all = keys
        self.first = first
    }

    /// Parses the text of a key file.
    package init(text: String) throws(SigningKeyError) {
        var keys: [SigningKey] = []
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let line = line.trimmed
            guard !line.isEmpty, line.first != "#" else { continue }
            guard let colon = line.firstIndex(of: ":") else {
                throw SigningKeyError("line \(index + 1) is not id:base64")
            }
            guard let secret = Base64.decode(line[line.index(after: colon)...].utf8) else {
                throw SigningKeyError("line \(index + 1): what follows the colon is not base64 (RFC 4648 section 4)")
            }
            do throws(SigningKeyError) {
                keys.append(try SigningKey(id: String(line[..<colon]), secret: secret))
            } catch {
                throw SigningKeyError("line \(index + 1): \(error)")
            }
        }
        try self.init(keys)
    }

    /// Reads a key file of at most 64 KiB, which must not be readable or writable by others than its owner and group.
    package init(file path: String) throws(SigningKeyError) {
        let text: String
        do throws(SecretFile.Failure) { text = try SecretFile.content(of: path, isRegular: false) } catch {
            throw SigningKeyError("\(path): \(error)")
        }
        do throws(SigningKeyError) { try self.init(text: text) } catch { throw SigningKeyError("\(path): \(error)") }
    }

    subscript(id id: some StringProtocol) -> SigningKey? { all.first { $0.id == id } }
}

extension Substring {
    /// The text without spaces, tabs and carriage returns at its ends.
    var trimmed: Substring {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" || character == "\r" }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
