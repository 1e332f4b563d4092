import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// A cache with the settings of a proxy, in its own directory and with its own clock.
struct ProxyCache {
    let directory: TestDirectory
    let clock: Locked<Date>
    let cache: DownloadCache

    /// - Parameters:
    ///   - directory: The directory of another cache, to share it as another process does. Default: a new one.
    ///   - busyTimeout: The time that the store waits for another process. Default: the configuration's.
    init(
        in directory: TestDirectory? = nil, clock: Locked<Date> = Locked(Date()), capacity: Int64 = 16 << 20,
        busyTimeout: Duration? = nil
    ) throws {
        let directory = try directory ?? TestDirectory()
        self.directory = directory
        self.clock = clock
        var configuration = DownloadCache.Configuration()
        configuration.now = { clock.withLock { $0 } }
        configuration.rules = CacheRules(mode: .shared)
        configuration.maxTransfersPerHost = 64
        configuration.maxTransfers = 64
        configuration.store.capacity = capacity
        if let busyTimeout { configuration.store.busyTimeout = busyTimeout }
        configuration.watchesMemoryPressure = false
        cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }
}

/// Tests of the library's side of a proxy.
protocol ForwardingSuite {
    var proxy: ProxyCache { get }
}

extension ForwardingSuite {
    var directory: TestDirectory { proxy.directory }
    var clock: Locked<Date> { proxy.clock }
    var cache: DownloadCache { proxy.cache }

    func request(
        _ url: String, _ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:], body: [UInt8]? = nil
    ) -> FileRequest {
        var request = FileRequest(url)
        request.method = method
        request.fields = fields
        request.body = body
        request.transfer.retry.baseDelay = .milliseconds(1)
        request.transfer.retry.maxRetries = 2
        // As the service does: it speaks for its clients.
        request.transfer.userAgent = ""
        return request
    }

    func bytes(of answer: ForwardedResponse) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard let content = answer.body else { return [] }
        for try await piece in content { bytes += try read(piece) }
        return bytes
    }

    func read(_ piece: ForwardedBody.Piece) throws -> [UInt8] {
        switch piece {
        case .bytes(let bytes): return bytes
        case .stored(let descriptor, let range):
            var bytes = [UInt8](repeating: 0, count: range.count)
            try #require(pread(descriptor, &bytes, range.count, off_t(range.lowerBound)) == range.count)
            return bytes
        }
    }

    func status(of answer: ForwardedResponse) -> String { answer.head.headerFields[.cacheStatus] ?? "" }
}

extension DownloadCache {
    /// Forwards a request that a test makes in other ways too.
    func forward(_ request: FileRequest) async throws(ImageCacheError) -> ForwardedResponse {
        try await forward(ForwardRequest(request))
    }

    func hotResponse(for request: FileRequest) -> HotResponse? { hotResponse(for: ForwardRequest(request)) }
}

extension HTTPField.Name {
    static var cacheStatus: Self { Self("Cache-Status") ?? .cacheControl }
}
