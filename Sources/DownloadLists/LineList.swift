import Digests

/// A list of one URL a line, and the input files of aria2: several URLs of one file are separated by tabs, and indented lines
/// below them are options of that file.
///
///     https://a.example/data.bin<TAB>https://b.example/data.bin
///       out=data/first.bin
///       checksum=sha-256=0f…
///
/// Blank lines and lines that begin with `#` are passed over. Fed line by line: a download is complete when the next one begins.
package struct LineList: Sendable {
    /// The options that are passed over, each once: they are about how aria2 downloads, not about what.
    package private(set) var ignoredOptions: [String] = []

    private let file: String
    private var line = 0
    private var current: ListedDownload?
    private var directory: String?
    private var name: String?
    /// The rest of a download of which an option made no sense is passed over.
    private var isBroken = false

    /// - Parameter file: The list's name, for errors.
    package init(file: String) { self.file = file }

    /// Takes the next line, without its end.
    ///
    /// - Returns: The download before it, which is complete now.
    package mutating func take(_ text: String) throws(ListError) -> ListedDownload? {
        line += 1
        var text = text[...]
        if line == 1, text.first == "\u{FEFF}" { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        guard !text.isEmpty else { return nil }
        let content = text.drop(while: \.isWhitespace)
        guard content.first != "#" else { return nil }
        if content.startIndex != text.startIndex, let option = Self.option(content) {
            try set(option.name, option.value)
            return nil
        }
        let done = try finish()
        isBroken = false
        let urls = content.utf8.split(separator: UInt8(ascii: "\t")).map { String(Substring($0).trimmed) }
            .filter { !$0.isEmpty }
        current = ListedDownload(urls.map { ListedDownload.Source($0) }, position: position)
        return done
    }

    /// Counts a line that cannot be taken, and passes over the options below it.
    ///
    /// - Parameter isOption: True if it is indented: the download above it is dropped, since the option may be its checksum.
    mutating func skipLine(isOption: Bool) {
        line += 1
        isBroken = true
        if isOption { current = nil }
    }

    /// The last download, if there is one that was not returned.
    package mutating func finish() throws(ListError) -> ListedDownload? {
        guard var download = current else { return nil }
        (current, directory, name) = (nil, nil, nil)
        // Only these can be fetched. aria2 also accepts ftp and magnet links.
        let web = download.sources.filter { $0.url.lowercased().hasPrefix("http") }
        if !web.isEmpty { download.sources = web }
        return download
    }

    /// True if there is a current download, which may receive further options.
    package var isOpen: Bool { current != nil }

    private var position: ListPosition { ListPosition(file, line: line) }

    /// `name=value`; nil for anything else, such as an indented URL.
    private static func option(_ text: some StringProtocol) -> (name: String, value: String)? {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        let name = text[..<equals]
        guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }) else {
            return nil
        }
        return (name.lowercased(), String(text[text.index(after: equals)...]))
    }

    private mutating func set(_ option: String, _ value: String) throws(ListError) {
        if isBroken { return }
        guard var download = current else {
            throw ListError(position, "the option \(option)= has no URL above it")
        }
        // Never without the option: it may be its checksum.
        current = nil
        isBroken = true
        switch option {
        case "out": name = value
        case "dir": directory = value
        case "checksum": download.digests.append(try digest(value))
        case "header": download.fields.append(try field(value))
        case "user-agent": download.fields.append(.init("User-Agent", value))
        case "referer": download.fields.append(.init("Referer", value))
        default: if !ignoredOptions.contains(option) { ignoredOptions.append(option) }
        }
        if option == "dir" { _ = try path(value) }
        if let name { download.output = try path(directory.map { $0 + "/" + name } ?? name) }
        current = download
        isBroken = false
    }

    private func path(_ text: String) throws(ListError) -> String {
        do throws(RelativePath.Defect) { return try RelativePath.checked(text) } catch {
            throw ListError(position, "\(error.message); paths are relative to the folder given with -d")
        }
    }

    private func digest(_ value: String) throws(ListError) -> Digest {
        let parts = value.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let algorithm = DigestAlgorithm(named: parts[0]) else {
            throw ListError(position, "'checksum=\(value.prefix(40))' is not checksum=sha-256=… with a known algorithm")
        }
        guard let digest = Digest(algorithm, hexadecimal: parts[1]) else {
            throw ListError(
                position,
                "the checksum is not \(2 * algorithm.byteCount) hexadecimal digits, which \(algorithm.rawValue) has")
        }
        return digest
    }

    private func field(_ value: String) throws(ListError) -> ListedDownload.Field {
        guard let colon = value.firstIndex(of: ":"), colon != value.startIndex else {
            // Not the text itself, which may hold a token.
            throw ListError(position, "'header=' takes 'Name: value'")
        }
        return .init(String(value[..<colon]), String(value[value.index(after: colon)...].trimmed))
    }
}

extension StringProtocol {
    /// Without white space at either end.
    var trimmed: SubSequence {
        var text = drop(while: \.isWhitespace)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
