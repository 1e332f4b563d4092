import ConcurrencyPrimitives
import Foundation
package import ImageCache
package import ImageCacheTesting
import Logging
package import TestSupport
import Testing

/// A cache in its own directory, over a scripted transport, with a clock that the test sets.
package final class Bench: Sendable {
    package let cache: DownloadCache
    package let transport: ScriptedTransport
    package let directory: TestDirectory
    private let clock: Locked<Date>
    /// The same for all, so that what one has stored is not from the future for another.
    private static let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    package static let url = "http://origin.example/a"

    /// - Parameter mode: `.shared`: a proxy's.
    package init(
        _ mode: CacheMode = .private, in directory: TestDirectory? = nil,
        _ configure: (inout DownloadCache.Configuration) -> Void = { _ in },
        script: @escaping @Sendable (ScriptedRequest) -> ScriptedResponse
    ) throws {
        let directory = try directory ?? TestDirectory()
        let clock = Locked(Self.start)
        var configuration = DownloadCache.Configuration()
        configuration.now = { clock.withLock { $0 } }
        configuration.rules = CacheRules(mode: mode)
        configuration.sweepsInBackground = false
        configuration.watchesMemoryPressure = false
        configuration.logger.logLevel = .critical
        configure(&configuration)
        transport = ScriptedTransport(now: configuration.now, script)
        configuration.transport = transport
        cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
        self.directory = directory
        self.clock = clock
    }

    /// Serves one representation under every path.
    package convenience init(_ representation: ScriptedRepresentation, _ mode: CacheMode = .private) throws {
        try self.init(mode) { representation.response(to: $0) }
    }

    package func advance(seconds: Double) { clock.withLock { $0 += seconds } }

    /// The methods of the requests so far.
    package var sent: [String] { transport.requests.map(\.method.rawValue) }

    // MARK: Consumers

    /// The ways to the same bytes.
    package enum Consumer: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case file, proxied, answer

        package var testDescription: String { rawValue }
    }

    /// The result of a consumer.
    package struct Outcome: Sendable {
        package var body: Body
        package var status: CacheStatus
        package var code: Int
    }

    package func request(_ change: (inout FileRequest) -> Void = { _ in }) -> FileRequest {
        var request = FileRequest(Self.url)
        request.transfer.userAgent = ""
        change(&request)
        return request
    }

    package func get(_ consumer: Consumer, _ change: (inout FileRequest) -> Void = { _ in }) async throws -> Outcome {
        try await get(consumer, request(change))
    }

    package func get(_ consumer: Consumer, _ request: FileRequest) async throws -> Outcome {
        switch consumer {
        case .file:
            let file = try await cache.file(for: request)
            return Outcome(body: try Self.body(of: file), status: file.cacheStatus, code: file.response.status.code)
        case .proxied:
            let answer = try await cache.forward(request)
            return Outcome(
                body: try await Self.body(of: answer), status: answer.cacheStatus, code: answer.head.status.code)
        case .answer:
            let answer = try await cache.response(for: request)
            return Outcome(
                body: try Self.body(of: answer), status: answer.cacheStatus, code: answer.head.status.code)
        }
    }

    /// The response that is in memory once it was asked for twice. It is used for a second, which may pass here.
    package func hotResponse() async throws -> HotResponse {
        while true {
            if let answer = cache.hotResponse(for: request()) { return answer }
            _ = try await get(.proxied)
        }
    }

    package static func body(of file: CachedFile) throws -> Body {
        Body([UInt8](try Data(contentsOf: URL(filePath: file.path))))
    }

    package static func body(of answer: CachedResponse) throws -> Body { Body(try answer.bytes()) }

    package static func body(of answer: ForwardedResponse) async throws -> Body { Body(try await answer.bytes()) }

    /// The error that a request fails with.
    package func failure(_ consumer: Consumer, _ change: (inout FileRequest) -> Void = { _ in }) async
        -> ImageCacheError.Code?
    {
        do {
            _ = try await get(consumer, change)
            return nil
        } catch {
            return (error as? ImageCacheError)?.code
        }
    }
}

extension DownloadCache {
    /// Forwards a request that a test makes in other ways too.
    package func forward(_ request: FileRequest) async throws(ImageCacheError) -> ForwardedResponse {
        try await forward(ForwardRequest(request))
    }

    package func hotResponse(for request: FileRequest) -> HotResponse? { hotResponse(for: ForwardRequest(request)) }
}

/// The bytes of a body, which compare at once and are not printed.
package struct Body: Equatable, ExpressibleByArrayLiteral, CustomStringConvertible, CustomTestStringConvertible {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package init(arrayLiteral bytes: UInt8...) { self.bytes = bytes }

    package static func == (left: Body, right: Body) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        return left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                guard let one = left.baseAddress, let other = right.baseAddress else {
                    return left.count == right.count
                }
                return memcmp(one, other, left.count) == 0
            }
        }
    }

    package var description: String { "\(bytes.count) bytes: \(bytes.prefix(8))" }
    package var testDescription: String { description }
}

extension ScriptedRepresentation {
    package var content: Body { Body(bytes) }
}
