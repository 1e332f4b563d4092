import Foundation
import HTTPTypes
import ImageCache
import TestSupport
import Testing

@Suite(.timeLimit) struct SecretTests {
    private static let secrets = ["c3VwZXItc2VjcmV0LXRva2Vu", "c2Vzc2lvbi1vZi1hbGljZQ"]

    /// The files below the cache directory that hold one of the secrets.
    private func files(_ place: TestWorkspace) throws -> [String] {
        try DiskUsage.files(at: place.cache).filter { name in
            let bytes = try Data(contentsOf: URL(filePath: "\(place.cache)/\(name)"))
            return Self.secrets.contains { bytes.range(of: Data($0.utf8)) != nil }
        }
    }

    private func origin(vary: String) throws -> ScriptedOrigin {
        var representation = Representation(seed: 1, size: 900_000, cacheControl: "public, max-age=600")
        representation.fields = [("Vary", vary)]
        return try ScriptedOrigin(behaviour: { [representation] request in
            var behaviour = Behaviour(representation)
            if request.path == "/cut", request.number == 1 { behaviour.cutAfter = 600_000 }
            return behaviour
        })
    }

    @Test(arguments: ["Authorization", "Cookie", "Authorization, Cookie, User-Agent"])
    func `no value of a request's field is on the disk after fetch, cut, rm and clear`(vary: String) async throws {
        let place = try TestWorkspace()
        let origin = try origin(vary: vary)
        let fields = [
            "-H", "Authorization: Bearer \(Self.secrets[0])", "-H", "Cookie: session=\(Self.secrets[1])",
        ]
        #expect(
            try await place.command.run(["fetch"] + fields + ["--retry", "0", origin.url("/cut")]).ending == .exited(3))
        #expect(try files(place) == [])
        for path in ["/cut", "/a", "/b"] {
            let outcome = try await place.command.run(["fetch"] + fields + [origin.url(path)])
            #expect(outcome.ending == .exited(0), "\(outcome)")
        }
        #expect(origin.requests.count == 4)
        #expect(try files(place) == [])
        // A request with the same fields is served; without them it is not.
        _ = try await place.command.run(["fetch"] + fields + [origin.url("/a")])
        #expect(origin.requests.count == 4)
        _ = try await place.fetch(origin.url("/a"))
        #expect(origin.requests.count == 5)
        _ = try await place.run("rm", origin.url("/a"))
        #expect(try files(place) == [])
        _ = try await place.run("clear")
        #expect(try files(place) == [])
        #expect(!DiskUsage.files(at: place.cache).isEmpty)
    }
}
