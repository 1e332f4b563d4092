import Glibc
import ImageCache

/// A file that is where a download is to go, as it was before the download began.
///
/// It may be replaced if it is what the store had delivered: the same bytes as the store's body from before the download. A file that a
/// user changed has others, whatever its size and times say.
struct PresentFile: Sendable {
    let path: String
    /// The body that the store had for the URL.
    private let former: CachedFile?
    private let linkMode: LinkMode
    /// The target of a symbolic link, if it led to the former body.
    private let link: String?

    /// `nil` if nothing is there.
    init?(_ path: String, _ linkMode: LinkMode, former: CachedFile?) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        self.former = former
        self.linkMode = linkMode
        let leads = linkMode == .symlink && former.map { linkMode.isAt(path, $0) } ?? false
        link = leads ? Self.link(at: path) : nil
    }

    /// Returns true if the file still is what the store had delivered.
    var isReplaceable: Bool {
        if linkMode == .symlink { return link != nil && Self.link(at: path) == link }
        return former.map { linkMode.isAt(path, $0) } ?? false
    }

    /// Throws ``Failure`` if the file is neither the one that is about to come nor what the store had delivered.
    ///
    /// - Parameter total: The length of the one that is about to come.
    func check(against total: Int64) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let maySame = status.st_mode & S_IFMT == S_IFREG && Int64(status.st_size) == total
        guard maySame || isReplaceable else { throw Failure.exists(path) }
    }

    private static func link(at path: String) -> String? {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &text, text.count)
        return count > 0 ? String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
