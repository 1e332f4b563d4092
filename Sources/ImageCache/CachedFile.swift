import DiskStore
public import HTTPCaching
import HTTPTypes

/// One complete representation on disk, byte for byte as the origin sent it.
///
/// The file behind ``path`` stays readable while this value or a copy of it lives, whatever is evicted, replaced or
/// removed meanwhile, in this process or another.
public struct CachedFile: Sendable {
    /// Where an answer came from.
    public enum Source: String, Sendable, Hashable {
        /// The disk store, still fresh, or acceptable to the policy as it was.
        case disk
        /// The disk store; the origin confirmed it with 304 (Not Modified).
        case revalidated
        /// The origin, in this request.
        case network
        /// The origin, continuing bytes that an earlier run left behind.
        case networkResumed = "network-resumed"
        /// The disk store, although stale: the origin could not be asked, and the rules allow it (RFC 9111 section 4.2.4).
        case stale
    }

    public let source: Source
    /// Bytes of bodies that crossed the network for this answer, over all attempts of this process.
    public let bytesTransferred: Int64
    /// Bytes that an earlier run had left behind and that were not fetched again.
    public let resumedFrom: Int64
    /// Where redirects led.
    public let finalURL: String
    /// The response that brought the file, as stored.
    public let response: StoredResponse
    /// Whether the file is in the store for others; `false` for a response that must not be stored.
    public let isStored: Bool

    /// How the cache came to this answer, as RFC 9211 tells it: for a `Cache-Status` field, or a log.
    public internal(set) var cacheStatus: CacheStatus

    let body: StoredBody
    /// The generation of the resource that the file is the current one of: while it lasts, what is made of the file may be kept.
    var generation: Generation

    /// The file as a request is given it that joined another one's fetch, or did not.
    func sharing(_ isShared: Bool) -> CachedFile {
        var file = self
        if isShared { file.cacheStatus.collapsed = true }
        return file
    }

    /// The file's path. Read it, do not change it.
    public var path: String { body.path }
    /// The file's length in bytes.
    public var size: Int64 { body.size }

    /// Puts a copy at `path`: it appears there whole or not at all.
    ///
    /// A reflink where the file system can, else a copy made by the kernel; never a hard link, through which a later
    /// change of the copy would reach the cache.
    public func export(to path: String, overwrite: Bool) throws(ImageCacheError) {
        do { try body.export(to: path, overwrite: overwrite) } catch { throw ImageCacheError(error) }
    }

    /// Moves the file to `path`, out of a cache that is not used again: there it counts as gone from then on. No byte is copied where
    /// both are on one file system.
    public func move(to path: String, overwrite: Bool) throws(ImageCacheError) {
        do { try body.move(to: path, overwrite: overwrite) } catch { throw ImageCacheError(error) }
    }

    /// Writes the whole body to a file descriptor: a pipe, a terminal, a file.
    public func copy(toDescriptor descriptor: Int32) throws(ImageCacheError) {
        try copyBytes(0..<size, of: body.descriptor, to: descriptor)
    }
}
