import ConcurrencyPrimitives
import DiskStore
public import FoundationEssentials
public import HTTPCaching
import HTTPTypes

/// One complete representation on disk, byte for byte as the origin sent it.
///
/// The file behind ``path`` stays readable while this value or a copy of it lives, whatever is evicted, replaced or
/// removed meanwhile, in this process or another.
public struct CachedFile: Sendable {
    /// The origin of a result.
    public enum Source: String, Sendable, Hashable {
        /// The disk store, still fresh: the origin was not asked.
        case disk
        /// The disk store; the origin confirmed it with 304 (Not Modified).
        case revalidated
        /// The origin, in this request.
        case network
        /// The origin, continuing bytes that an earlier run left behind.
        case networkResumed = "network-resumed"
        /// The remote store that is shared with other machines (``DownloadCache/Configuration/remote``), still fresh.
        case remote
        /// The disk store, although stale (RFC 9111 section 4.2.4): the policy or `max-stale` accepts it as it is, it is being revalidated in
        /// the background (`stale-while-revalidate`), or the origin could not be reached. ``CachedFile/cacheStatus`` tells them apart.
        case stale
    }

    public internal(set) var source: Source
    /// Bytes of bodies that crossed the network for this request, over all attempts of this process.
    public internal(set) var bytesTransferred: Int64
    /// Bytes that an earlier run had left behind and that were not fetched again.
    public let resumedFrom: Int64
    /// The URL after redirects.
    public let finalURL: String
    /// The response that brought the file, as stored. `Set-Cookie` has a value only for the request that received the response.
    public internal(set) var response: StoredResponse
    /// True if the file is in the store for others; `false` for a response that must not be stored.
    public let isStored: Bool

    /// The handling by the cache (RFC 9211): for a `Cache-Status` field, or a log.
    public internal(set) var cacheStatus: CacheStatus

    let body: StoredBody
    /// The generation of the resource while the file is its current representation: as long as it lasts, images derived from the
    /// file may be kept.
    var generation: Generation

    /// True if the file is stored for another request and has the digest of this one's (``FileRequest/reusesEqualBodies``).
    package internal(set) var isOfOtherRequest = false

    /// The file for a request that joined another one's fetch, or did not.
    func sharing(_ isShared: Bool) -> CachedFile {
        guard isShared else { return self }
        var file = self
        file.cacheStatus.collapsed = true
        file.response = response.withEmptyCookies
        return file
    }

    /// The file's path. Read it, do not change it.
    public var path: String { body.path }
    /// The file's length in bytes.
    public var size: Int64 { body.size }

    /// Puts the file at `path`: it appears there complete or not at all.
    ///
    /// - Parameters:
    ///   - path: The file's place, in a folder that exists.
    ///   - overwrite: True to replace an existing file.
    ///   - linkMode: A clone, the default: what becomes of the file at `path` never reaches the cache. See ``LinkMode`` for others.
    /// - Throws: ``ImageCacheError`` with code `store`: `exists` without `overwrite`, `notWritable`, `full`.
    public func export(
        to path: String, overwrite: Bool, linkMode: LinkMode = .clone
    ) async throws(ImageCacheError) {
        try await BlockingExecutor.copies.run { () throws(ImageCacheError) in
            try blocking.export(to: path, overwrite: overwrite, linkMode: linkMode)
        }
    }

    /// Puts the file at a file URL, as ``export(to:overwrite:linkMode:)-(String,_,_)``.
    public func export(
        to url: URL, overwrite: Bool, linkMode: LinkMode = .clone
    ) async throws(ImageCacheError) {
        guard url.isFileURL else {
            throw ImageCacheError(
                .invalidRequest, url: url.absoluteString, message: "\(url.absoluteString): not a file URL")
        }
        try await export(to: url.path(percentEncoded: false), overwrite: overwrite, linkMode: linkMode)
    }

    /// Writes the complete body to a file descriptor: a pipe, a terminal, a file.
    public func copy(toDescriptor descriptor: Int32) async throws(ImageCacheError) {
        try await BlockingExecutor.copies.run { () throws(ImageCacheError) in
            try blocking.copy(toDescriptor: descriptor)
        }
    }

    /// The operations that wait for the disk, on the calling thread.
    package var blocking: Blocking { Blocking(file: self) }

    /// The operations of a file that wait for the disk, on the calling thread: for a command that has nothing else to do meanwhile.
    package struct Blocking: Sendable {
        let file: CachedFile

        /// Puts the file at `path`: it appears there complete or not at all.
        package func export(
            to path: String, overwrite: Bool, linkMode: LinkMode = .clone
        ) throws(ImageCacheError) {
            do throws(StoreError) {
                try file.body.export(to: path, overwrite: overwrite, mode: linkMode)
            } catch {
                throw ImageCacheError(error)
            }
        }

        /// Returns true if a regular file with the same bytes is at `path`; a symbolic link is none.
        package func isEqual(toFileAt path: String) -> Bool { file.body.isEqual(toFileAt: path) }

        /// Moves the file to `path`, out of a cache that is not used again: there it counts as gone from then on. No byte is
        /// copied where both are on one file system.
        package func move(to path: String, overwrite: Bool) throws(ImageCacheError) {
            do { try file.body.move(to: path, overwrite: overwrite) } catch { throw ImageCacheError(error) }
        }

        /// Writes the complete body to a file descriptor.
        package func copy(toDescriptor descriptor: Int32) throws(ImageCacheError) {
            try copyBytes(0..<file.size, of: file.body.descriptor, to: descriptor)
        }
    }
}
