import DiskStore
import Glibc
import ImageCache
import Units

/// The free space that an output needs for a file. It is checked before the download, as soon as the length is known.
enum OutputRoom {
    /// The way in which a file gets from the cache to its output.
    enum Way: Equatable {
        /// The output is the cache's own file, as another link or with shared blocks.
        case shared
        /// The cache is next to the output, and the file is moved.
        case moved
        /// Copied within one file system, which temporarily has both files.
        case copiedBeside
        /// Copied to another file system.
        case copiedElsewhere
    }

    /// The required free space in bytes.
    ///
    /// - Parameter held: The number of bytes of the file that the cache already has.
    static func needed(for total: Int64, held: Int64, _ way: Way) -> Int64 {
        switch way {
        case .shared: 0
        case .moved: total - held
        // The origin declares the length.
        case .copiedBeside: Int64(clamping: Int128(total) + Int128(total) - Int128(held))
        case .copiedElsewhere: total
        }
    }

    /// Throws ``Failure`` if a file cannot fit. If this is uncertain, it does not throw.
    ///
    /// - Parameters:
    ///   - path: The output's path, for the error.
    ///   - folder: The output's folder, or its closest ancestor that exists.
    ///   - evictable: The number of bytes that the cache can evict; they count if both are on one file system.
    static func check(
        _ total: Int64, held: Int64, at path: String, in folder: String, _ way: Way, evictable: () -> Int64
    ) throws {
        let needed = needed(for: total, held: held, way)
        guard needed > 0, let free = freeSpace(at: folder), free < needed else { return }
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
        // Only an attempt shows if the file system can share blocks.
        return mode == .copy ? .copiedBeside : .shared
    }

    /// The folder of a path, or its closest ancestor that exists.
    static func folder(of path: String) -> String {
        var rest = path[...]
        while let slash = rest.lastIndex(of: "/") {
            rest = slash == rest.startIndex ? "/" : rest[..<slash]
            if access(String(rest), F_OK) == 0 || rest == "/" { return String(rest) }
        }
        return "."
    }
}
