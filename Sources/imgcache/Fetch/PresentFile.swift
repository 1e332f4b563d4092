import Glibc
import ImageCache

/// A file at the target of a download, as it was before the download started.
///
/// It may be replaced if the store delivered it, in any mode, which means that it has the bytes of the stored body from before the download or is
/// a link to that body. A file that the user changed has other bytes, even if its size and times are the same.
struct PresentFile: Sendable {
    let path: String
    /// The stored body for the URL.
    private let former: CachedFile?
    /// The target of a symbolic link, if it led to the former body.
    private let link: String?

    /// Returns `nil` if there is no file.
    init?(_ path: String, former: CachedFile?) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        self.former = former
        let leads = former.map { LinkMode.symlink.isAt(path, $0) } ?? false
        link = leads ? Self.link(at: path) : nil
    }

    /// True if the file is still the one that the store delivered.
    var isReplaceable: Bool {
        if let link { return Self.link(at: path) == link }
        return former?.blocking.isEqual(toFileAt: path) ?? false
    }

    /// Throws ``Failure`` if the file is neither the expected file nor the one that the store delivered.
    ///
    /// - Parameter total: The length of the expected file.
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
