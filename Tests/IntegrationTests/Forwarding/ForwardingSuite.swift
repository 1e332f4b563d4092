import CacheTestSupport
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

    func status(of answer: ForwardedResponse) -> String { answer.head.headerFields[.cacheStatus] ?? "" }
}

extension HTTPField.Name {
    static var cacheStatus: Self { Self("Cache-Status") ?? .cacheControl }
}
