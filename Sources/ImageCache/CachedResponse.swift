import ConcurrencyPrimitives
import DiskStore
public import HTTPCaching
public import HTTPTypes

/// The HTTP response to a request with a range, conditions of its own, or the method HEAD.
///
/// The bytes of ``range`` stay readable while the value lives, whatever is evicted or replaced meanwhile.
public struct CachedResponse: Sendable {
    /// 200, 206 (Partial Content), 304 (Not Modified), 416 (Range Not Satisfiable), or 504 to `only-if-cached`; with the
    /// stored fields, `Age`, `Cache-Status` (RFC 9211), and what a 206 or 416 needs (RFC 9110 section 14.4).
    public let head: HTTPResponse
    /// The bytes of the representation that are the content; `nil` when there is none (HEAD, 304, 416, 504).
    public let range: Range<Int64>?
    /// Bytes of bodies that crossed the network for this response.
    public let bytesTransferred: Int64

    /// The handling by the cache, as `Cache-Status` in ``head`` states it.
    public let cacheStatus: CacheStatus

    private let source: Source

    private enum Source: Sendable {
        case none
        case file(CachedFile)
        case partial(PartialBody)
    }

    init(_ head: HTTPResponse, _ status: CacheStatus, bytesTransferred: Int64 = 0) {
        self.head = head.with(status)
        cacheStatus = status
        range = nil
        source = .none
        self.bytesTransferred = bytesTransferred
    }

    init(_ head: HTTPResponse, _ range: Range<Int64>?, of file: CachedFile) {
        self.head = head.with(file.cacheStatus)
        cacheStatus = file.cacheStatus
        self.range = range
        source = .file(file)
        bytesTransferred = file.bytesTransferred
    }

    init(_ head: HTTPResponse, _ range: Range<Int64>, of partial: PartialBody, _ status: CacheStatus) {
        self.head = head.with(status)
        cacheStatus = status
        self.range = range
        source = .partial(partial)
        bytesTransferred = 0
    }

    /// The file that the content is taken from, when all of it is stored.
    public var file: CachedFile? { if case .file(let file) = source { file } else { nil } }

    /// A descriptor to read ``range`` from with `pread` or `sendfile`, at the range's own offsets; it lives as long as this
    /// value does.
    public var descriptor: Int32? {
        switch source {
        case .none: nil
        case .file(let file): file.body.descriptor
        case .partial(let partial): partial.descriptor
        }
    }

    /// Writes the content to a file descriptor: a socket, a pipe, a file.
    public func copyContent(toDescriptor target: Int32) async throws(ImageCacheError) {
        guard let range, let descriptor else { return }
        try await BlockingExecutor.copies.run { [self] () throws(ImageCacheError) in
            // The descriptor lives as long as the value.
            try withExtendedLifetime(source) { () throws(ImageCacheError) in
                try copyBytes(range, of: descriptor, to: target)
            }
        }
    }
}

extension HTTPResponse {
    /// The response after this cache (RFC 9211 section 2).
    func with(_ status: CacheStatus) -> HTTPResponse {
        var response = self
        response.headerFields[.cacheStatus] = status.appended(to: headerFields[.cacheStatus])
        return response
    }
}
