import Digests

/// A list of checksums and names, as `sha256sum`, `sha512sum` and the like write it, also with `--tag`.
///
///     0f4c…  shards/0001.tar
///     SHA256 (shards/0002.tar) = 9a1b…
package struct ChecksumList: Sendable {
    private let file: String
    private let base: String
    private var line = 0

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
        guard let first = text.first, first != "#" else { return nil }
        let position = ListPosition(file, line: line)
        guard let (digest, name) = Self.entry(text) else {
            throw ListError(position, "is not a checksum and a file name, as sha256sum writes them")
        }
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

    /// Counts a line that cannot be taken.
    mutating func skipLine() { line += 1 }

    /// Returns true if the line is an entry of a checksum list.
    static func isEntry(_ line: some StringProtocol) -> Bool { entry(line[...]) != nil }

    private static func entry(_ line: some StringProtocol) -> (Digest, name: String)? {
        tagged(line) ?? plain(line)
    }

    /// `SHA256 (name) = digits`
    private static func tagged(_ line: some StringProtocol) -> (Digest, name: String)? {
        guard let open = line.firstRange(of: " ("), let close = line.lastRange(of: ") = "),
            open.upperBound <= close.lowerBound, let algorithm = DigestAlgorithm(named: line[..<open.lowerBound]),
            let digest = Digest(algorithm, hexadecimal: line[close.upperBound...])
        else { return nil }
        return (digest, String(line[open.upperBound..<close.lowerBound]))
    }

    /// `digits  name`, or `digits *name`; a backslash before them says that some characters of the name are escaped.
    private static func plain(_ line: some StringProtocol) -> (Digest, name: String)? {
        let isEscaped = line.utf8.first == UInt8(ascii: "\\")
        let line = isEscaped ? line[line.utf8.index(after: line.startIndex)...] : line[...]
        let digits = line.prefix { $0.isASCII && $0.isHexDigit }
        let algorithm = DigestAlgorithm.allCases.first { 2 * $0.byteCount == digits.utf8.count }
        guard let algorithm, let digest = Digest(algorithm, hexadecimal: digits) else { return nil }
        let rest = line[digits.endIndex...]
        let marks = rest.utf8.prefix(2)
        guard marks.elementsEqual("  ".utf8) || marks.elementsEqual(" *".utf8) else { return nil }
        let name = String(rest[marks.endIndex...])
        return (digest, isEscaped ? unescaped(name) : name)
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
