public import ArgumentParser
import Glibc
public import ImageCache

extension LinkMode: ExpressibleByArgument {
    static let variable = "IMGCACHE_LINK_MODE"

    /// The default mode: `$IMGCACHE_LINK_MODE`, otherwise clone.
    static var preset: LinkMode {
        EnvironmentSettings.text(of: variable).flatMap { LinkMode(rawValue: $0) } ?? .clone
    }

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
