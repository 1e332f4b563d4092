import Glibc
import ImageCache
import Units

/// The room that an output's file system must have for a file, known from its length before it is downloaded.
enum OutputRoom {
    /// The way of a file from the cache to its output.
    enum Way: Equatable {
        /// The output is the cache's own file, under a further name or with shared blocks.
        case shared
        /// The cache is next to the output, and the file is moved.
        case moved
        /// Copied on one file system, which holds both for a time.
        case copiedBeside
        /// Copied to another file system.
        case copiedElsewhere
    }

    /// The bytes that must be free.
    ///
    /// - Parameter held: The bytes of the file that the cache has already.
    static func needed(for total: Int64, held: Int64, _ way: Way) -> Int64 {
        switch way {
        case .shared: 0
        case .moved: total - held
        case .copiedBeside: total + total - held
        case .copiedElsewhere: total
        }
    }

    /// Throws ``Failure`` if a file cannot fit; where that is uncertain, the file is tried.
    ///
    /// - Parameters:
    ///   - path: The output's path, for the error.
    ///   - folder: The output's folder, or the next one above it that exists.
    ///   - evictable: The bytes that the cache may evict; they count where the two are on one file system.
    static func check(
        _ total: Int64, held: Int64, at path: String, in folder: String, _ way: Way, evictable: () -> Int64
    ) throws {
        let needed = needed(for: total, held: held, way)
        guard needed > 0, let free = free(at: folder), free < needed else { return }
        guard way != .copiedBeside || free + evictable() < needed else { return }
        throw Failure(
            .store,
            "\(path): the file needs \(ByteSize(needed)) there, and \(ByteSize(free)) are free; make room, or choose another place"
        )
    }

    /// The way of a file that is not moved.
    static func way(from cache: String, to folder: String, _ mode: LinkMode) -> Way {
        var (here, there) = (stat(), stat())
        guard stat(cache, &here) == 0, stat(folder, &there) == 0 else { return .shared }
        guard here.st_dev == there.st_dev else { return .copiedElsewhere }
        // Only the attempt shows if the file system shares blocks.
        return mode == .copy ? .copiedBeside : .shared
    }

    /// The folder of a path, or the next one above it that exists.
    static func folder(of path: String) -> String {
        var rest = path[...]
        while let slash = rest.lastIndex(of: "/") {
            rest = slash == rest.startIndex ? "/" : rest[..<slash]
            if access(String(rest), F_OK) == 0 || rest == "/" { return String(rest) }
        }
        return "."
    }

    private static func free(at folder: String) -> Int64? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        return Int64(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }
}
