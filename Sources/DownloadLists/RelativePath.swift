import HTTPSemantics
import TextIdentity

/// Paths that a list names: relative, and never out of the folder that they are put into.
enum RelativePath {
    /// Folders in one path.
    private static let mostComponents = 64

    /// The path with its parts joined by single slashes.
    static func checked(_ path: some StringProtocol) throws(Defect) -> String {
        guard !path.isEmpty else { throw Defect("the file has an empty name") }
        guard path.utf8.first != UInt8(ascii: "/") else { throw Defect("'\(shown(path))' is an absolute path") }
        guard path.unicodeScalars.allSatisfy({ !$0.isControl }) else {
            throw Defect("'\(shown(path))' has control characters")
        }
        var parts = path.pathParts
        // As `find . | xargs sha256sum` writes it.
        while parts.count > 1, parts.first == "." { parts.removeFirst() }
        for part in parts {
            if part == ".." { throw Defect("'\(shown(path))' leads out of the folder") }
            if part.isEmpty || part == "." { throw Defect("'\(shown(path))' is not the path of a file") }
            if part.utf8.count > 255 { throw Defect("'\(shown(path))' has a part of more than 255 bytes") }
        }
        if parts.count > mostComponents { throw Defect("'\(shown(path))' has more than \(mostComponents) parts") }
        // Files that do not fit into the store are downloaded into this folder.
        if parts[0] == ".imgcache" { throw Defect("'\(shown(path))': .imgcache is the command's own folder") }
        return parts.joined(separator: "/")
    }

    struct Defect: Error {
        let message: String

        fileprivate init(_ message: String) { self.message = message }
    }

    private static func shown(_ path: some StringProtocol) -> String {
        String(String.UnicodeScalarView(path.unicodeScalars.prefix(80).map { !$0.isHidden ? $0 : "\u{FFFD}" }))
    }
}
