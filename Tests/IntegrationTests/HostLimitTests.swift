import Foundation
import ImageCache
import TestSupport
import Testing

/// Limits of what one origin is asked for at once, and within a second.
@Suite(.fewAtATime) struct HostLimitTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func cache(_ change: (inout DownloadCache.Configuration) -> Void) throws -> DownloadCache {
        var configuration = DownloadCache.Configuration()
        configuration.adaptsToHosts = false
        change(&configuration)
        return try DownloadCache(directory: directory.path("cache"), configuration: configuration)
    }

    @Test func `two caches on one directory share the limit on connections to a host`() async throws {
        let gates = (0..<8).map { _ in Gate() }
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 1, size: 1000)).with { $0.bodyGate = (500, gates[request.number - 1]) }
        }
        let caches = try (0..<2).map { _ in
            try cache {
                $0.maxTransfersPerHost = 3
                $0.sharesHostLimit = true
            }
        }
        let tasks = (0..<8).map { number in
            Task { try await caches[number % 2].file(for: FileRequest(origin.url("/\(number)"))) }
        }
        for served in 0..<8 {
            // Never a fourth one, before one of the three has ended.
            #expect(await origin.waits { $0.count == min(8, served + 3) })
            #expect(origin.requests.count == min(8, served + 3))
            gates[served].open()
        }
        for task in tasks { #expect(try await task.value.size == 1000) }
        #expect(origin.requests.count == 8)
    }

    @Test func `a stopped process with all connections to a host delays others at most by the connect timeout`()
        async throws
    {
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 1, size: 1000)).with {
                if request.path == "/held" { $0.bodyGate = (500, gate) }
            }
        }
        let limit = { (configuration: inout DownloadCache.Configuration) in
            configuration.maxTransfersPerHost = 1
            configuration.sharesHostLimit = true
        }
        let (holder, other) = (try cache(limit), try cache(limit))
        let held = Task { try await holder.file(for: FileRequest(origin.url("/held"))) }
        #expect(await origin.waits { $0.first?.bodyBytesSent == 500 })
        var request = FileRequest(origin.url("/other"))
        request.transfer.connectTimeout = .milliseconds(300)
        #expect(try await other.file(for: request).size == 1000)
        gate.open()
        #expect(try await held.value.size == 1000)
    }

    @Test func `the limit on requests per second spreads requests over time`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 1000))
        let cache = try cache { $0.maxRequestsPerSecond = 20 }
        let start = ContinuousClock.now
        let tasks = (0..<6).map { number in
            Task { try await cache.file(for: FileRequest(origin.url("/\(number)"))) }
        }
        for task in tasks { #expect(try await task.value.size == 1000) }
        // Not how fast it is: it must not be faster than asked for.
        #expect(ContinuousClock.now - start >= .milliseconds(5 * 50))
    }
}
