import CacheTestSupport
import Foundation
import ImageCache
import TestSupport
import Testing

/// Responses without explicit freshness: `imgcache fetch` validates them.
@Suite(.timeLimit) struct HeuristicFreshnessTests {
    private func origin(cacheControl: String? = nil) throws -> ScriptedOrigin {
        try ScriptedOrigin(
            serving: Representation(
                seed: 1, size: 1000, lastModified: Date(timeIntervalSinceNow: -1_000_000), cacheControl: cacheControl))
    }

    @Test func `fetch revalidates a file that only a heuristic calls fresh`() async throws {
        let (place, origin) = (try TestWorkspace(), try origin())
        for count in 1...3 {
            #expect(try await place.fetch(origin.url()).ending == .exited(0))
            #expect(origin.requests.count == count)
        }
        #expect(origin.requests[1].request["If-Modified-Since"] != nil)
        #expect(origin.bodyBytesSent == 1000)
        // With an option, or with explicit freshness, no request is sent.
        for option in ["--heuristic", "--offline", "--prefer-cached"] {
            #expect(try await place.fetch(option, origin.url()).ending == .exited(0))
        }
        #expect(origin.requests.count == 3)
        let info = try await place.run("info", origin.url())
        #expect(info.output.contains("Nothing says how long it is fresh"), "\(info)")
    }

    @Test func `fetch uses a file that is explicitly fresh, or stale if the origin is unreachable`()
        async throws
    {
        let place = try TestWorkspace()
        let explicit = try origin(cacheControl: "max-age=600")
        for _ in 0..<2 { _ = try await place.fetch(explicit.url()) }
        #expect(explicit.requests.count == 1)
        let gone = try origin()
        _ = try await place.fetch(gone.url())
        gone.stop()
        #expect(try await place.fetch("--retry", "0", gone.url()).ending == .exited(0))
    }

    @Test func `the library uses heuristics unless told not to`() async throws {
        for (rules, requests) in [(CacheRules(), 1), (CacheRules(usesHeuristics: false), 2)] {
            let (directory, origin) = (try TestDirectory(), try origin())
            var configuration = DownloadCache.Configuration()
            configuration.rules = rules
            let cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
            for _ in 0..<2 { _ = try await cache.file(for: FileRequest(origin.url())) }
            #expect(origin.requests.count == requests)
            await cache.close()
        }
    }

    @Test func `path does not print a stored error response, and info shows its status`() async throws {
        let place = try TestWorkspace()
        let origin = try ScriptedOrigin(behaviour: { _ in .status(404, fields: [("Cache-Control", "max-age=600")]) })
        let cache = try DownloadCache(directory: place.cache)
        let answer = try await cache.forward(FileRequest(origin.url()))
        if let content = answer.body { for try await _ in content {} }
        await cache.close()
        let path = try await place.run("path", origin.url())
        #expect(path.ending == .exited(7) && path.output.isEmpty && path.errorOutput.contains("404"), "\(path)")
        let info = try await place.run("info", origin.url())
        #expect(info.ending == .exited(0) && info.output.contains("404"), "\(info)")
        #expect(info.output.contains("not used by fetch"), "\(info)")
    }
}
