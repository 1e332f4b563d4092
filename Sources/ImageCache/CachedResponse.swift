import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
public import HTTPCaching
public import HTTPTypes

/// The HTTP response to a request with a range, with conditions, or with the method HEAD.
///
/// The bytes of ``range`` remain readable while this value exists, even if the entry is evicted or replaced.
public struct CachedResponse: Sendable {
    /// 200, 206 (Partial Content), 304 (Not Modified), 416 (Range Not Satisfiable), or 504 for `only-if-cached`. The fields are the stored
    /// ones, `Age`, `Cache-Status` (RFC 9211), and the fields of a 206 or 416 (RFC 9110 section 14.4).
    public let head: HTTPResponse
    /// The bytes of the representation that are the content; `nil` for HEAD, 304, 416 and 504.
    public let range: Range<Int64>?
    /// The number of body bytes received from the network for this response.
    public let bytesTransferred: Int64

    /// The handling by the cache; also in the `Cache-Status` field of ``head``.
    public let cacheStatus: CacheStatus

    private let source: Source

    private enum Source: Sendable {
        case none
        indirect case file(CachedFile)
        case partial(PartialBody)

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Int {
            switch self {
            case .none: 0
            case .file(let file): try file.body.read(into: buffer, at: offset)
            case .partial(let partial): try partial.read(into: buffer, at: offset)
            }
        }
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

    init(
        _ head: HTTPResponse, _ range: Range<Int64>, of partial: PartialBody, _ status: CacheStatus,
        bytesTransferred: Int64 = 0
    ) {
        self.head = head.with(status)
        cacheStatus = status
        self.range = range
        source = .partial(partial)
        self.bytesTransferred = bytesTransferred
    }

    /// The file that contains the content, if it is completely stored.
    public var file: CachedFile? { if case .file(let file) = source { file } else { nil } }

    /// A descriptor for reading ``range`` with `pread` or `sendfile`, at the offsets of the range. Valid while this value exists.
    public var descriptor: Int32? {
        switch source {
        case .none: nil
        case .file(let file): file.body.descriptor
        case .partial(let partial): partial.descriptor
        }
    }

    /// Reads stored bytes of the representation, such as the bytes in ``range``.
    func bytes(in range: Range<Int64>) async throws(ImageCacheError) -> Data {
        try await BlockingExecutor.copies.run { [source] () throws(ImageCacheError) in
            var bytes = Data(count: range.count)
            var failure: StoreError?
            let count = bytes.withUnsafeMutableBytes { buffer in
                do throws(StoreError) { return try source.read(into: buffer, at: range.lowerBound) } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw ImageCacheError(failure) }
            guard count == range.count else {
                throw ImageCacheError(.wrongBytes, message: "the file ends before its length")
            }
            return bytes
        }
    }

    /// Writes the content to a file descriptor, such as a socket, a pipe or a file.
    public func copyContent(toDescriptor target: Int32) async throws(ImageCacheError) {
        guard let range, let descriptor else { return }
        try await BlockingExecutor.copies.run { [self] () throws(ImageCacheError) in
            // Keeps the descriptor open.
            try withExtendedLifetime(source) { () throws(ImageCacheError) in
                try copyBytes(range, of: descriptor, to: target)
            }
        }
    }
}

extension HTTPResponse {
    /// The response with this cache's member added to `Cache-Status` (RFC 9211 section 2).
    func with(_ status: CacheStatus) -> HTTPResponse {
        var response = self
        response.headerFields[.cacheStatus] = status.appended(to: headerFields[.cacheStatus])
        return response
    }
}
