import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing
import Transfer

/// An origin that fails: the stale response where the rules allow it, else the failure.
@Suite(.timeLimit) struct OriginFailureTests {
    /// The failure of the origin.
    enum Failure: Sendable, CaseIterable {
        case unreachable, cut, internalError, badGateway, unavailable, gatewayTimeout, notFound, forbidden

        var status: Int? {
            switch self {
            case .unreachable, .cut: nil
            case .internalError: 500
            case .badGateway: 502
            case .unavailable: 503
            case .gatewayTimeout: 504
            case .notFound: 404
            case .forbidden: 403
            }
        }

        var response: ScriptedResponse {
            switch self {
            case .unreachable: .failure(.connect)
            case .cut: .failure(.cut)
            default: ScriptedResponse(.init(code: status ?? 500), body: Array("an error page".utf8))
            }
        }
    }

    /// The response's word about being served stale.
    enum Directive: String, Sendable, CaseIterable {
        case none = "max-age=60"
        case staleIfError = "max-age=60, stale-if-error=600"
        case expiredStaleIfError = "max-age=60, stale-if-error=10"
        case mustRevalidate = "max-age=60, must-revalidate"

        /// RFC 5861 section 4, RFC 9111 section 4.2.4.
        func allowsStale(after failure: Failure) -> Bool {
            switch self {
            case .none: failure.status == nil
            case .staleIfError: failure.status.map { $0 >= 500 } ?? true
            case .expiredStaleIfError, .mustRevalidate: false
            }
        }
    }

    private let bytes = Body(ScriptedRepresentation.bytes(700))

    private func bench(_ failure: Failure, _ directive: Directive) throws -> Bench {
        let representation = ScriptedRepresentation(bytes.bytes, [.cacheControl: directive.rawValue])
        return try Bench { request in
            request.number == 1 ? representation.response(to: request) : failure.response
        }
    }

    @Test(arguments: Failure.allCases, Directive.allCases)
    func `a file is served stale where the rules allow it`(_ failure: Failure, _ directive: Directive) async throws {
        let bench = try bench(failure, directive)
        _ = try await bench.get(.file)
        bench.advance(seconds: 100)
        if directive.allowsStale(after: failure) {
            let file = try await bench.cache.file(for: bench.request())
            #expect(file.source == .stale && file.cacheStatus.detail != nil)
            #expect(try Bench.body(of: file) == bytes)
        } else {
            let code = await bench.failure(.file)
            #expect(code == failure.status.map { .status($0) } ?? .unreachable)
        }
    }

    @Test(arguments: Failure.allCases, Directive.allCases)
    func `a proxy serves a stale response, or the origin's own error`(_ failure: Failure, _ directive: Directive)
        async throws
    {
        let bench = try bench(failure, directive)
        _ = try await bench.get(.proxied)
        bench.advance(seconds: 100)
        if directive.allowsStale(after: failure) {
            let outcome = try await bench.get(.proxied)
            #expect(outcome.code == 200 && outcome.body == bytes && outcome.status.forward == .stale)
        } else if let status = failure.status {
            let outcome = try await bench.get(.proxied)
            #expect(outcome.code == status && outcome.body == Body(Array("an error page".utf8)))
        } else {
            #expect(await bench.failure(.proxied) == .unreachable)
        }
    }

    /// But for a 404, which is a word about the resource.
    @Test(arguments: Failure.allCases.filter { $0 != .notFound })
    func `an error never takes a stored file's place`(_ failure: Failure) async throws {
        let bench = try bench(failure, .none)
        _ = try await bench.get(.file)
        bench.advance(seconds: 100)
        _ = try? await bench.get(.proxied)
        _ = try? await bench.get(.file)
        #expect(try await bench.get(.file) { $0.policy = .returnCacheDataDontLoad }.body == bytes)
    }

    @Test(arguments: [
        (TransferError.Code.connect, ImageCacheError.Code.unreachable), (.resolve, .unreachable),
        (.cut, .unreachable), (.stalled, .unreachable), (.addressRefused, .addressRefused),
        (.protocolViolation, .wrongBytes), (.unsupportedURL, .invalidRequest),
    ])
    func `a transfer's failure is reported as an error of the cache`(
        _ code: TransferError.Code, _ expected: ImageCacheError.Code
    ) async throws {
        let bench = try Bench { _ in .failure(code) }
        for consumer in Bench.Consumer.allCases { #expect(await bench.failure(consumer) == expected) }
    }

    @Test(arguments: [500, 502, 503, 504, 404, 410, 403, 401])
    func `an error status is an error for a file, and a response for a proxy`(_ status: Int) async throws {
        let bench = try Bench { _ in ScriptedResponse(.init(code: status), body: Array("no".utf8)) }
        #expect(await bench.failure(.file) == .status(status))
        let outcome = try await bench.get(.proxied)
        #expect(outcome.code == status && outcome.body == Body(Array("no".utf8)))
    }

    @Test func `a temporary error status is retried for a file, and never for a proxy`() async throws {
        let bench = try Bench { _ in ScriptedResponse(.serviceUnavailable) }
        _ = await bench.failure(.file) { $0.transfer.retry.maxRetries = 3 }
        #expect(bench.sent.count == 4)
        _ = try await bench.get(.proxied) { $0.transfer.retry.maxRetries = 3 }
        #expect(bench.sent.count == 5)
    }
}
