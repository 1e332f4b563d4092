import ConcurrencyPrimitives
package import DiskStore
public import FoundationEssentials
public import HTTPCaching
import HTTPTypes

/// A complete representation on disk, byte for byte as the origin sent it.
///
/// The file at ``path`` remains readable while this value or a copy of it exists, even if any process evicts, replaces or removes the
/// entry.
public struct CachedFile: Sendable {
    /// The origin of a result.
    public enum Source: String, Sendable, Hashable {
        /// The disk store, without contacting the origin: the response is fresh.
        case disk
        /// The disk store, after the origin confirmed the response with 304 (Not Modified).
        case revalidated
        /// The origin.
        case network
        /// The origin, which resumed the partial of an earlier run.
        case networkResumed = "network-resumed"
        /// The store shared with other machines (<doc:Fleet>), without contacting the origin.
        case remote
        /// The disk store, although the response is stale (RFC 9111 section 4.2.4): the policy or `max-stale` allows it, it is being
        /// revalidated in the background (`stale-while-revalidate`), or the origin is unreachable. ``CachedFile/cacheStatus`` has the
        /// reason.
        case stale
    }

    public internal(set) var source: Source
    /// The number of body bytes received from the network for this request, over all attempts of this process.
    public internal(set) var bytesTransferred: Int64
    /// The number of bytes that an earlier run had received and that were not fetched again.
    public let resumedFrom: Int64
    /// The URL after redirects.
    public let finalURL: String
    /// The stored response. `Set-Cookie` has a value only for the request that received the response.
    public internal(set) var response: StoredResponse
    /// True if later requests can use the file; false for a response that must not be stored.
    public let isStored: Bool

    /// The handling by the cache (RFC 9211), for a `Cache-Status` field or a log.
    public internal(set) var cacheStatus: CacheStatus

    package let body: StoredBody
    /// The generation of the resource. Images derived from the file may be kept while the generation is current.
    package internal(set) var generation: Generation

    /// True if the file was stored for another request and has the same digest (``FileRequest/reusesEqualBodies``).
    package internal(set) var isDeduplicated = false

    /// The file for a request that may have joined the fetch of another one.
    func sharing(_ isShared: Bool) -> CachedFile {
        guard isShared else { return self }
        var file = self
        file.cacheStatus.collapsed = true
        file.response = response.withEmptyCookies
        return file
    }

    /// True if the origin sent or confirmed the response for this very request. Others must not get the fields that `no-cache="…"` names
    /// (RFC 9111 section 5.2.2.4).
    var isValidatedForItsRequest: Bool {
        switch source {
        case .network, .networkResumed, .revalidated: !cacheStatus.collapsed
        case .disk, .remote, .stale: false
        }
    }

    /// The file's path. Do not change the file.
    public var path: String { body.path }
    /// The file's length in bytes.
    public var size: Int64 { body.size }

    /// Exports the file to `path`, where it appears complete or not at all.
    ///
    /// - Parameters:
    ///   - path: The target, in an existing directory.
    ///   - overwrite: True to replace an existing file.
    ///   - linkMode: Default: a clone, so that later changes of the file at `path` do not affect the cache. For others see ``LinkMode``.
    /// - Throws: ``ImageCacheError`` with code `store`: `exists` without `overwrite`, `notWritable`, or `full`.
    public func export(
        to path: String, overwrite: Bool, linkMode: LinkMode = .clone
    ) async throws(ImageCacheError) {
        try await BlockingExecutor.copies.run { () throws(ImageCacheError) in
            try blocking.export(to: path, overwrite: overwrite, linkMode: linkMode)
        }
    }

    /// Exports the file to a file URL, like ``export(to:overwrite:linkMode:)-(String,_,_)``.
    public func export(
        to url: URL, overwrite: Bool, linkMode: LinkMode = .clone
    ) async throws(ImageCacheError) {
        guard url.isFileURL else {
            throw ImageCacheError(
                .invalidRequest, url: url.absoluteString, message: "\(url.absoluteString): not a file URL")
        }
        try await export(to: url.path(percentEncoded: false), overwrite: overwrite, linkMode: linkMode)
    }

    /// Writes the body to a file descriptor, such as a pipe, a terminal or a file.
    public func copy(toDescriptor descriptor: Int32) async throws(ImageCacheError) {
        try await BlockingExecutor.copies.run { () throws(ImageCacheError) in
            try blocking.copy(toDescriptor: descriptor)
        }
    }

    /// The operations that block the calling thread.
    package var blocking: Blocking { Blocking(file: self) }

    /// The operations that block the calling thread while they wait for the disk, for a command that has nothing else to do.
    package struct Blocking: Sendable {
        let file: CachedFile

        /// Exports the file to `path`, where it appears complete or not at all.
        ///
        /// - Parameter modified: The modification time of a new file; `nil` for now.
        package func export(
            to path: String, overwrite: Bool, linkMode: LinkMode = .clone, modified: Date? = nil
        ) throws(ImageCacheError) {
            do throws(StoreError) {
                try file.body.export(to: path, overwrite: overwrite, mode: linkMode, modified: modified)
            } catch {
                throw ImageCacheError(error)
            }
        }

        /// Returns true if `path` is a regular file with the same bytes, and not a symbolic link.
        package func isEqual(toFileAt path: String) -> Bool { file.body.isEqual(toFileAt: path) }

        /// Moves the file to `path`, out of a cache that is not used any longer; the entry then counts as missing. No bytes are copied
        /// within one file system.
        package func move(to path: String, overwrite: Bool, modified: Date? = nil) throws(ImageCacheError) {
            do throws(StoreError) {
                try file.body.move(to: path, overwrite: overwrite, modified: modified)
            } catch {
                throw ImageCacheError(error)
            }
        }

        /// Writes the body to a file descriptor.
        package func copy(toDescriptor descriptor: Int32) throws(ImageCacheError) {
            try copyBytes(0..<file.size, of: file.body.descriptor, to: descriptor)
        }
    }
}
