public import ArgumentParser
import Glibc
public import ImageCache

extension LinkMode: ExpressibleByArgument {
    static let variable = "IMGCACHE_LINK_MODE"

    /// The text in `$IMGCACHE_LINK_MODE`; `nil` if it is unset or empty.
    static var environmentText: String? {
        getenv(variable).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The default mode: `$IMGCACHE_LINK_MODE`, otherwise clone. `nil` if the variable is not a valid mode.
    static var preset: LinkMode? { environmentText.map { LinkMode(rawValue: $0) } ?? .clone }

    /// Returns true if the path already has the file's content, in this mode.
    func isAt(_ path: String, _ file: CachedFile) -> Bool {
        guard self == .symlink else { return file.blocking.isEqual(toFileAt: path) }
        guard let target = realpath(path, nil), let own = realpath(file.path, nil) else { return false }
        defer {
            free(target)
            free(own)
        }
        return strcmp(target, own) == 0
    }
}
