import Digests

/// A list of checksums and names, as `sha256sum`, `sha512sum` and the like write it, also with `--tag`.
///
///     0f4c…  shards/0001.tar
///     SHA256 (shards/0002.tar) = 9a1b…
///
/// It may be a signed text of OpenPGP (RFC 9580 section 7). The signature is not verified, and only lines that it covers are entries.
package struct ChecksumList: Sendable {
    /// The part of the list that the next line belongs to.
    private enum Part {
        /// Before the first entry.
        case start
        /// The entries of a list without a signature.
        case entries
        /// The fields above a signed text.
        case fields
        case signedText
        case signature
        case end
    }

    private static let signedTextBegins = "-----BEGIN PGP SIGNED MESSAGE-----"
    private static let signatureBegins = "-----BEGIN PGP SIGNATURE-----"
    private static let signatureEnds = "-----END PGP SIGNATURE-----"

    private let file: String
    private let base: String
    private var line = 0
    private var part = Part.start

    /// - Parameters:
    ///   - file: The list's name, for errors.
    ///   - base: The URL of the folder that the names are relative to.
    package init(file: String, base: String) {
        self.file = file
        self.base = base.hasSuffix("/") ? base : base + "/"
    }

    /// Takes the next line, without its end.
    package mutating func take(_ text: some StringProtocol) throws(ListError) -> ListedDownload? {
        line += 1
        var text = text[...]
        if line == 1, text.first == "\u{FEFF}" { text.removeFirst() }
        if text.last == "\r" { text.removeLast() }
        let position = ListPosition(file, line: line)
        if try passesOver(text, position) { return nil }
        // Lines that begin with a dash have this before it.
        if part == .signedText, text.hasPrefix("- ") { text = text.dropFirst(2) }
        guard let first = text.first, first != "#" else { return nil }
        guard let (digest, name) = Self.entry(text) else {
            throw ListError(position, "is not a checksum and a file name, as sha256sum writes them")
        }
        if part == .start { part = .entries }
        do throws(RelativePath.Defect) {
            let path = try RelativePath.checked(name)
            var download = ListedDownload(base + Self.encoded(path), position: position)
            download.output = path
            download.digests = [digest]
            return download
        } catch {
            throw ListError(position, error.message)
        }
    }

    /// Returns true for a line of the signature, or of the armor around a signed text.
    private mutating func passesOver(
        _ text: some StringProtocol, _ position: ListPosition
    ) throws(ListError) -> Bool {
        let text = text.trimmed
        switch part {
        case .entries: return false
        case .start:
            guard text == Self.signedTextBegins else { return false }
            part = .fields
        case .fields:
            guard text.isEmpty || text.hasPrefix("Hash:") else {
                throw ListError(position, "is not the field Hash, which is all that is above a signed list")
            }
            if text.isEmpty { part = .signedText }
        case .signedText:
            guard text == Self.signatureBegins else { return false }
            part = .signature
        case .signature: if text == Self.signatureEnds { part = .end }
        case .end:
            guard text.isEmpty || text.hasPrefix("#") else {
                throw ListError(position, "is below the signature, which does not cover it")
            }
        }
        return true
    }

    /// Throws if a signed text, or its signature, ends with the last line that was taken.
    func checkEnd() throws(ListError) {
        switch part {
        case .start, .entries, .end: return
        case .fields, .signedText, .signature:
            throw ListError(
                ListPosition(file, line: line),
                "is the last line, and the list's signature does not end; get the whole list again")
        }
    }

    /// Counts a line that cannot be taken.
    mutating func skipLine() { line += 1 }

    /// Returns true if the line is an entry of a checksum list, or the first line of a signed one.
    static func isLine(_ line: some StringProtocol) -> Bool {
        entry(line[...]) != nil || line.trimmed == signedTextBegins
    }

    /// A backslash before an entry says that some characters of its name are escaped.
    private static func entry(_ line: some StringProtocol) -> (Digest, name: String)? {
        let isEscaped = line.utf8.first == UInt8(ascii: "\\")
        let line = isEscaped ? line[line.utf8.index(after: line.startIndex)...] : line[...]
        guard let (digest, name) = tagged(line) ?? plain(line) else { return nil }
        return (digest, isEscaped ? unescaped(name) : name)
    }

    /// `SHA256 (name) = digits`
    private static func tagged(_ line: some StringProtocol) -> (Digest, name: String)? {
        guard let open = line.firstRange(of: " ("), let close = line.lastRange(of: ") = "),
            open.upperBound <= close.lowerBound, let algorithm = DigestAlgorithm(named: line[..<open.lowerBound]),
            let digest = Digest(algorithm, hexadecimal: line[close.upperBound...])
        else { return nil }
        return (digest, String(line[open.upperBound..<close.lowerBound]))
    }

    /// `digits  name`, or `digits *name`
    private static func plain(_ line: some StringProtocol) -> (Digest, name: String)? {
        let digits = line.prefix { $0.isASCII && $0.isHexDigit }
        let algorithm = DigestAlgorithm.allCases.first { 2 * $0.byteCount == digits.utf8.count }
        guard let algorithm, let digest = Digest(algorithm, hexadecimal: digits) else { return nil }
        let rest = line[digits.endIndex...]
        let marks = rest.utf8.prefix(2)
        guard marks.elementsEqual("  ".utf8) || marks.elementsEqual(" *".utf8) else { return nil }
        return (digest, String(rest[marks.endIndex...]))
    }

    private static func unescaped(_ name: String) -> String {
        var result = String.UnicodeScalarView()
        var rest = name.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let next = rest.popFirst() else {
                result.append(scalar)
                continue
            }
            result.append(next == "n" ? "\n" : next == "r" ? "\r" : next)
        }
        return String(result)
    }

    /// A path as a URL has it: everything but unreserved characters and slashes is escaped.
    private static func encoded(_ path: String) -> String {
        var result: [UInt8] = []
        for byte in path.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~/".contains(character) {
                result.append(byte)
            } else {
                result += Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

extension StringProtocol {
    fileprivate func firstRange(of text: String) -> Range<Index>? {
        indices.lazy.first { self[$0...].hasPrefix(text) }.map { $0..<self.index($0, offsetBy: text.count) }
    }

    fileprivate func lastRange(of text: String) -> Range<Index>? {
        indices.reversed().lazy.first { self[$0...].hasPrefix(text) }.map { $0..<self.index($0, offsetBy: text.count) }
    }
}
