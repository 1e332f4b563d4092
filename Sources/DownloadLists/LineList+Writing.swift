import Digests

extension LineList {
    /// A download as the lines that ``take(_:)`` makes the same of, piece digests and the size aside.
    ///
    /// - Parameter comment: Stands above it.
    package static func lines(for download: ListedDownload, comment: String? = nil) -> String {
        var text = comment.map { "# \(oneLine($0))\n" } ?? ""
        if download.pieces != nil || download.size != nil {
            text += "# its size and the checksums of its pieces are in the Metalink file only\n"
        }
        text += download.sources.map(\.url).joined(separator: "\t") + "\n"
        if let output = download.output { text += "  out=\(output)\n" }
        for digest in download.digests {
            text += "  checksum=\(digest.algorithm.rawValue)=\(digest.hexadecimal)\n"
        }
        for field in download.fields { text += "  header=\(field.name): \(field.value)\n" }
        return text
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
