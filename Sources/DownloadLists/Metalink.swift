import Digests
import XMLParsing

/// Metalink 4 documents (RFC 5854): files with their sizes, digests, piece digests and URLs. Elements about torrents (`metaurl`), people
/// and versions are ignored.
package enum Metalink {
    /// Largest document in bytes.
    package static let maxSize = 64 << 20

    /// - Parameter file: The document's name, for errors.
    package static func downloads(in document: [UInt8], file: String) throws(ListError) -> [ListedDownload] {
        guard document.count <= maxSize else {
            throw ListError(
                ListPosition(file, line: 1), "is longer than 64 MiB, the most that is read of a Metalink file")
        }
        var builder = MetalinkBuilder(file: file)
        do throws(XMLReader.Failure) {
            try XMLReader.read(document) { event, place in builder.take(event, at: place.line) }
        } catch {
            throw ListError(ListPosition(file, line: error.line), error.message)
        }
        return builder.downloads
    }
}

/// Makes downloads of the events of a Metalink document.
struct MetalinkBuilder {
    private static let namespace = "urn:ietf:params:xml:ns:metalink"
    private static let mostFiles = 1_000_000
    private static let mostURLs = 1000
    private static let mostPieces = 1 << 20
    private static let mostDepth = 64

    private(set) var downloads: [ListedDownload] = []

    private let file: String
    /// The elements that are open, by their names in Metalink's namespace; others have none.
    private var path: [String?] = []
    private var text = ""
    private var attributes: [String: String] = [:]
    private var current: ListedDownload?
    private var pieces: Pieces?

    private struct Pieces {
        var algorithm: DigestAlgorithm?
        var length: Int64
        var digests: [[UInt8]] = []
    }

    init(file: String) { self.file = file }

    /// - Returns: The reason why the document cannot be taken.
    mutating func take(_ event: XMLReader.Event, at line: Int) -> String? {
        do throws(Defect) {
            switch event {
            case .start(let name, let attributes): try start(name, attributes, line)
            case .text(let text):
                try add(text)
            case .end: try end()
            }
            return nil
        } catch {
            return error.message
        }
    }

    private struct Defect: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }

    private mutating func start(_ name: String, _ attributes: [String: String], _ line: Int) throws(Defect) {
        let parts = name.split(separator: " ", maxSplits: 1)
        let local = parts.count == 2 && parts[0] == Self.namespace ? String(parts[1]) : nil
        guard !path.isEmpty else {
            guard local == "metalink" else {
                throw Defect(
                    name.hasSuffix("metalink") ? "is not Metalink 4 (RFC 5854)" : "is no Metalink document")
            }
            path = [local]
            return
        }
        guard path.count < Self.mostDepth else { throw Defect("elements stand more than \(Self.mostDepth) deep") }
        path.append(local)
        text = ""
        self.attributes = attributes
        switch path {
        case ["metalink", "file"]: try startFile(attributes["name"] ?? "", line)
        case ["metalink", "file", "pieces"]:
            guard let length = attributes["length"].flatMap({ Int64($0) }), length > 0 else {
                throw Defect("the length of pieces must be a positive integer")
            }
            pieces = Pieces(algorithm: attributes["type"].flatMap { DigestAlgorithm(named: $0) }, length: length)
        default: break
        }
    }

    private mutating func startFile(_ name: String, _ line: Int) throws(Defect) {
        guard downloads.count < Self.mostFiles else { throw Defect("more than \(Self.mostFiles) files") }
        do throws(RelativePath.Defect) {
            let output = try RelativePath.checked(name)
            current = ListedDownload([], position: ListPosition(file, line: line))
            current?.output = output
        } catch {
            throw Defect(error.message)
        }
    }

    private mutating func add(_ more: String) throws(Defect) {
        guard text.utf8.count + more.utf8.count > 1 << 16 else {
            text += more
            return
        }
        // Only these are read. A description may have any length.
        if let name = path.last, ["hash", "size", "url"].contains(name) { throw Defect("a text of more than 64 KiB") }
    }

    private mutating func end() throws(Defect) {
        switch path {
        case ["metalink", "file"]: try endFile()
        case ["metalink", "file", "size"]:
            guard let size = Int64(text.trimmed), size >= 0 else { throw Defect("the size must be a number of bytes") }
            current?.size = size
        case ["metalink", "file", "hash"]: try endHash()
        case ["metalink", "file", "pieces"]: endPieces()
        case ["metalink", "file", "pieces", "hash"]: try endPiece()
        case ["metalink", "file", "url"]: try endURL()
        default: break
        }
        path.removeLast()
        text = ""
    }

    /// Of several digests of a file with unknown algorithms, those that are known count.
    private mutating func endHash() throws(Defect) {
        guard let type = attributes["type"], let algorithm = DigestAlgorithm(named: type) else { return }
        guard let digest = Digest(algorithm, hexadecimal: text.trimmed) else {
            throw Defect("the \(algorithm.rawValue) digest is not \(2 * algorithm.byteCount) hexadecimal digits")
        }
        current?.digests.append(digest)
    }

    private mutating func endPiece() throws(Defect) {
        guard let algorithm = pieces?.algorithm else { return }
        guard let digest = Digest(algorithm, hexadecimal: text.trimmed) else {
            throw Defect("a piece's \(algorithm.rawValue) digest is not \(2 * algorithm.byteCount) hexadecimal digits")
        }
        guard pieces?.digests.count ?? 0 < Self.mostPieces else { throw Defect("more than \(Self.mostPieces) pieces") }
        pieces?.digests.append(digest.bytes)
    }

    private mutating func endPieces() {
        defer { pieces = nil }
        // Of several lists the one with the strongest algorithm.
        guard let pieces, let algorithm = pieces.algorithm,
            current?.pieces.map({ $0.algorithm.byteCount < algorithm.byteCount }) ?? true
        else { return }
        if let digests = PieceDigests(algorithm, length: pieces.length, pieces.digests) { current?.pieces = digests }
    }

    private mutating func endURL() throws(Defect) {
        let url = String(text.trimmed)
        guard url.lowercased().hasPrefix("http://") || url.lowercased().hasPrefix("https://") else { return }
        guard current?.sources.count ?? 0 < Self.mostURLs else {
            throw Defect("more than \(Self.mostURLs) URLs of one file")
        }
        var source = ListedDownload.Source(url)
        if let text = attributes["priority"] {
            guard let priority = Int(text), (1...ListedDownload.Source.lastPriority).contains(priority) else {
                throw Defect("a priority must be a number from 1 to 999999")
            }
            source.priority = priority
        }
        current?.sources.append(source)
    }

    private mutating func endFile() throws(Defect) {
        guard var download = current else { return }
        current = nil
        let name = download.output ?? ""
        guard !download.sources.isEmpty else { throw Defect("'\(name)' has no http or https URL") }
        if let size = download.size, let pieces = download.pieces, !pieces.fits(size: size) {
            throw Defect("'\(name)' of \(size) bytes has not \(pieces.digests.count) pieces of \(pieces.length)")
        }
        // Stable: of equal priority the first goes first.
        let ordered = download.sources.enumerated().sorted {
            ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset)
        }
        download.sources = ordered.map(\.element)
        downloads.append(download)
    }
}
