import ConcurrencyPrimitives
public import FoundationEssentials
import HTTPSemantics
import HTTPTypes

/// A file at an origin that is read only where bytes are needed, like a local file.
///
///     let file = cache.remoteFile(for: "https://example.com/data.parquet")
///     let footer = try await file.read(last: 8)
///     let column = try await file.read(at: 4_000_000, count: 65_536)
///     for try await piece in file.bytes(from: 0) { hash.update(piece) }
///
/// A read requests the blocks of 256 KiB that it touches and that are not stored, and stores them (RFC 9110 section 14, RFC 9111 section 3.3). If
/// reads follow one another, more is loaded in advance: from 256 KiB up to 8 MiB at a time, of which at most two are in memory.
///
/// All reads return bytes of one version of the file. If it changes at the origin, they throw ``ImageCacheError/Code/wrongBytes``; a new
/// `RemoteFile` reads the new version. If the origin ignores ranges, or names no strong validator, the first read downloads the file,
/// which stays readable while this object exists.
public final class RemoteFile: Sendable {
    private let source: RangeSource
    private let ahead: ReadAhead

    init(_ request: FileRequest, in cache: DownloadCache) {
        source = RangeSource(request, in: cache)
        ahead = source.readAhead()
    }

    /// The size in bytes. Until something has been read, it is found by reading the last byte.
    public var size: Int64 {
        get async throws(ImageCacheError) {
            if let size = source.size { return size }
            _ = try await read(last: 1)
            guard let size = source.size else {
                throw source.failure("the server does not tell the length of the file")
            }
            return size
        }
    }

    /// Reads bytes at an offset: fewer at the end of the file, and none beyond it.
    ///
    /// - Throws: The errors of ``DownloadCache/file(for:)-(FileRequest)``; ``ImageCacheError/Code/wrongBytes`` if the file has changed at the
    ///   origin; ``ImageCacheError/Code/invalidRequest`` for a negative offset or count.
    public func read(at offset: Int64, count: Int) async throws(ImageCacheError) -> Data {
        try source.requireNotNegative(offset, count)
        let (end, overflow) = offset.addingReportingOverflow(Int64(count))
        return try await ahead.read(offset..<(overflow ? .max : end))
    }

    /// Reads the last bytes: all of them if the file is shorter.
    ///
    /// - Throws: The errors of ``read(at:count:)``.
    public func read(last count: Int) async throws(ImageCacheError) -> Data {
        try source.requireNotNegative(0, count)
        guard let size = source.size else { return try await source.load(.suffix(Int64(count))) }
        return try await source.load(.from(max(0, size - Int64(count)), through: nil))
    }

    /// A sequence of the bytes from an offset to the end of the file, in pieces of at most 256 KiB.
    ///
    /// Each iteration loads in advance on its own.
    ///
    /// - Precondition: The offset is not negative.
    public func bytes(from offset: Int64 = 0) -> some AsyncSequence<Data, ImageCacheError> & Sendable {
        bytes(in: offset..<Int64.max)
    }

    /// A sequence of the bytes of a range, in pieces of at most 256 KiB. It ends where the file does.
    ///
    /// Each iteration loads in advance on its own.
    ///
    /// - Precondition: The range begins at 0 or later.
    public func bytes(in range: Range<Int64>) -> some AsyncSequence<Data, ImageCacheError> & Sendable {
        precondition(range.lowerBound >= 0, "an offset is not negative")
        return RemoteBytes(source: source, range: range)
    }

    /// The response to a range, given as after `bytes=` in the field `Range`.
    package func response(to range: String) async throws(ImageCacheError) -> CachedResponse {
        try await source.response(to: range)
    }
}

extension DownloadCache {
    /// A file whose bytes are read where they are needed. Makes no request yet.
    public func remoteFile(for request: FileRequest) -> RemoteFile { RemoteFile(request, in: self) }

    /// The file at a URL, whose bytes are read where they are needed. Makes no request yet.
    public func remoteFile(for url: String) -> RemoteFile { remoteFile(for: FileRequest(url)) }

    /// The file at a URL, whose bytes are read where they are needed. Makes no request yet.
    public func remoteFile(for url: URL) -> RemoteFile { remoteFile(for: FileRequest(url)) }

    /// The bytes of a range of a file: fewer at its end, and none beyond it. Only the blocks of 256 KiB that the range touches are
    /// requested. For several ranges of one version, use a ``RemoteFile``.
    public func bytes(for request: FileRequest, range: Range<Int64>) async throws(ImageCacheError) -> Data {
        try await remoteFile(for: request).read(at: range.lowerBound, count: range.count)
    }
}

/// The bytes of a range of a ``RemoteFile``, in order.
private struct RemoteBytes: AsyncSequence, Sendable {
    let source: RangeSource
    let range: Range<Int64>

    func makeAsyncIterator() -> Iterator {
        Iterator(ahead: source.readAhead(), position: range.lowerBound, end: range.upperBound)
    }

    struct Iterator: AsyncIteratorProtocol {
        let ahead: ReadAhead
        var position: Int64
        let end: Int64

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ImageCacheError) -> Data? {
            guard position < end else { return nil }
            let count = Swift.min(RangePlan.block - position % RangePlan.block, end - position)
            let piece = position..<position + count
            let bytes = try await ahead.read(piece)
            position = bytes.count < piece.count ? end : piece.upperBound
            return bytes.isEmpty ? nil : bytes
        }
    }
}

/// The ranges of one version of a file.
private final class RangeSource: Sendable {
    private struct State {
        /// The version that was read first.
        var version: RepresentationVersion?
        var size: Int64?
        /// A response from the whole file, if all of it is stored.
        var whole: CachedResponse?
    }

    private let cache: DownloadCache
    private let request: FileRequest
    private let state = Locked(State())

    init(_ request: FileRequest, in cache: DownloadCache) {
        self.request = request
        self.cache = cache
    }

    var size: Int64? { state.withLock { $0.size } }

    func readAhead() -> ReadAhead {
        ReadAhead(on: cache.executor) { [self] (range) async throws(ImageCacheError) in
            try await load(ByteRange(range))
        }
    }

    func requireNotNegative(_ offset: Int64, _ count: Int) throws(ImageCacheError) {
        guard offset < 0 || count < 0 else { return }
        throw ImageCacheError(
            .invalidRequest, url: request.urlWithoutUserinfo, message: "a range of bytes begins at 0 or later")
    }

    func failure(_ message: String) -> ImageCacheError {
        ImageCacheError(.wrongBytes, url: request.urlWithoutUserinfo, message: message)
    }

    /// Loads the bytes of a range; those that the file has.
    func load(_ range: ByteRange) async throws(ImageCacheError) -> Data {
        if case .suffix(0) = range { return Data() }
        let response: CachedResponse
        let bytes: Range<Int64>
        if let (whole, size) = state.withLock({ state in state.whole.map { ($0, state.size ?? 0) } }) {
            (response, bytes) = (whole, range.resolved(length: size) ?? 0..<0)
        } else {
            response = try await self.response(to: range.text)
            if response.head.status == .rangeNotSatisfiable { return Data() }
            guard let content = response.range else {
                throw ImageCacheError(
                    response.head.status == .gatewayTimeout ? .notCached : .status(response.head.status.code),
                    url: request.urlWithoutUserinfo, message: "the range could not be read")
            }
            // An origin that ignores ranges has sent the whole file.
            bytes = (size.map { range.resolved(length: $0) ?? 0..<0 } ?? content).clamped(to: content)
        }
        do throws(ImageCacheError) { return try await response.bytes(in: bytes) } catch {
            throw error.with(url: request.url)
        }
    }

    /// The response to a range of the version that was read first.
    func response(to range: String) async throws(ImageCacheError) -> CachedResponse {
        var request = request
        request.fields[.range] = "bytes=\(range)"
        let response = try await cache.response(for: request)
        let status = response.head.status
        // A 504 for bytes that are not stored belongs to no version.
        guard status.kind == .successful || status == .rangeNotSatisfiable else { return response }
        let fields = response.head.headerFields
        let size = response.file?.size ?? ContentRange(fields)?.total
        let version = RepresentationVersion(fields, length: size)
        let isSame = state.withLock { state in
            guard state.version ?? version == version else { return false }
            (state.version, state.size) = (version, size)
            if response.file != nil { state.whole = state.whole ?? response }
            return true
        }
        if !isSame { throw failure("the file changed at the origin between two of its ranges") }
        return response
    }
}
