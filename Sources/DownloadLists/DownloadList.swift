/// A list of downloads. Its format is recognised by its content: Metalink 4 begins with `<`, a list of checksums has a base URL, and
/// anything else has one URL per line with the options of aria2's input files.
package enum DownloadList {
    /// All downloads of a list.
    ///
    /// - Parameters:
    ///   - file: The list's name, for errors.
    ///   - base: The URL of the folder to which the names in a list of checksums are relative.
    ///   - ignored: Called with each option of an aria2 input file that is ignored.
    package static func downloads(
        in bytes: [UInt8], file: String, base: String? = nil, ignored: (String) -> Void = { _ in }
    ) throws(ListError) -> [ListedDownload] {
        guard !isMetalink(bytes) else { return try Metalink.downloads(in: bytes, file: file) }
        var reader = DownloadListReader(file: file, base: base)
        var downloads: [ListedDownload] = []
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if let download = try reader.take(line) { downloads.append(download) }
        }
        if let last = try reader.finish() { downloads.append(last) }
        try reader.checkEnd()
        reader.ignoredOptions.forEach(ignored)
        return downloads
    }

    /// Returns true if a list begins like an XML document.
    package static func isMetalink(_ bytes: some Sequence<UInt8>) -> Bool {
        let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
        return first == UInt8(ascii: "<")
    }
}

/// Reads a list line by line, whichever form of lines it has.
package struct DownloadListReader: Sendable {
    private enum Form {
        case lines(LineList)
        case checksums(ChecksumList)
    }

    private let file: String
    private var form: Form
    private var line = 0
    private var hasEntry = false

    /// - Parameters:
    ///   - file: The list's name, for errors.
    ///   - base: The URL of the folder that the names of a list of checksums are relative to; `nil`: the lines are URLs.
    package init(file: String, base: String?) {
        self.file = file
        form = base.map { .checksums(ChecksumList(file: file, base: $0)) } ?? .lines(LineList(file: file))
    }

    /// Takes the next line, without its end.
    ///
    /// - Returns: A download that is complete.
    package mutating func take(_ bytes: some Collection<UInt8>) throws(ListError) -> ListedDownload? {
        line += 1
        guard bytes.count <= LineSplitter.longest else {
            throw skip(bytes.first, "is longer than 64 KiB, the most that a line may have")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw skip(bytes.first, "is not a line of UTF-8 text")
        }
        switch form {
        case .checksums(var list):
            defer { form = .checksums(list) }
            return try list.take(text)
        case .lines(var list):
            if !hasEntry, ChecksumList.isLine(text) {
                throw ListError(
                    ListPosition(file, line: line), "is of a list of checksums; such a list needs --base-url")
            }
            defer {
                hasEntry = hasEntry || list.isOpen
                form = .lines(list)
            }
            return try list.take(text)
        }
    }

    /// Passes over a line that begins so, and the options below it.
    private mutating func skip(_ first: UInt8?, _ message: String) -> ListError {
        switch form {
        case .checksums(var list):
            list.skipLine()
            form = .checksums(list)
        case .lines(var list):
            list.skipLine(isOption: first == UInt8(ascii: " ") || first == UInt8(ascii: "\t"))
            form = .lines(list)
        }
        return ListError(ListPosition(file, line: line), message)
    }

    /// The download that further lines could still have added to; `nil` when there is none.
    package mutating func finish() throws(ListError) -> ListedDownload? {
        guard case .lines(var list) = form else { return nil }
        defer { form = .lines(list) }
        return try list.finish()
    }

    /// Throws if the list cannot end behind the last line that was taken: it was cut.
    package func checkEnd() throws(ListError) { if case .checksums(let list) = form { try list.checkEnd() } }

    /// The options of aria2's that were passed over.
    package var ignoredOptions: [String] { if case .lines(let list) = form { list.ignoredOptions } else { [] } }
}
