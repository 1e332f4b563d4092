import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// A redirect that moves from one release to the next, at an origin whose ETags are made of time and size, as nginx's: two files
/// of equal size and time have one. Only the final URL tells them apart.
@Suite(.fewAtATime) struct MovingRedirectTests {
    private static let size: Int64 = 3_000_000
    private static let cut: Int64 = 1_500_000
    private static let date = Date(timeIntervalSince1970: 1_700_000_000)
    private static let old = Representation(
        seed: 61, size: size, etag: "\"same\"", lastModified: date, cacheControl: nil)
    private static let new = Representation(
        seed: 62, size: size, etag: "\"same\"", lastModified: date, cacheControl: nil)

    private let work: TestWorkspace

    init() throws { work = try TestWorkspace() }

    /// Both files under their paths; `/latest` redirects to `latest`.
    private func origin(
        cutting: Bool = true, latest: @escaping @Sendable (ReceivedRequest) -> Behaviour
    ) throws -> ScriptedOrigin {
        let hasCut = Locked(!cutting)
        return try ScriptedOrigin { request in
            var behaviour =
                switch request.path {
                case "/fw-1.0.img": Behaviour(Self.old)
                case "/fw-1.1.img": Behaviour(Self.new)
                default: latest(request)
                }
            let cuts =
                behaviour.status == nil
                && hasCut.withLock { done in
                    defer { done = true }
                    return !done
                }
            if cuts { behaviour.cutAfter = Self.cut }
            return behaviour
        }
    }

    /// The preconditions in requests for a path.
    private func conditions(_ origin: ScriptedOrigin, _ path: String) -> [String] {
        origin.requests(to: path).flatMap { request in
            ["Range", "If-Range", "If-None-Match", "If-Modified-Since"].filter { request[$0] != nil }
        }
    }

    private enum Way: String, CaseIterable {
        case redirectMoves, redirectBegins, redirectEnds
    }

    private func origin(_ way: Way, cutting: Bool) throws -> ScriptedOrigin {
        try origin(cutting: cutting) { [way] request in
            let isFirst = request.number == 1
            return switch way {
            case .redirectMoves: .redirect(to: isFirst ? "/fw-1.0.img" : "/fw-1.1.img")
            case .redirectBegins: isFirst ? Behaviour(Self.old) : .redirect(to: "/fw-1.1.img", status: 301)
            case .redirectEnds: isFirst ? .redirect(to: "/fw-1.0.img") : Behaviour(Self.new)
            }
        }
    }

    @Test(arguments: Way.allCases)
    private func `a partial of one resource is not continued with another, whatever its ETag`(way: Way) async throws {
        let origin = try origin(way, cutting: true)
        try await work.fetchUntilCut(origin.url("/latest"))
        let (outcome, answer) = try await work.fetchJSON(origin.url("/latest"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.new.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.resumedFrom == 0)
        #expect(conditions(origin, "/fw-1.1.img").isEmpty)
        // More of a body that was received there may be requested there.
        #expect(conditions(origin, "/latest").isEmpty || way == .redirectBegins)
        #expect(origin.requests.count <= 4)
    }

    @Test(arguments: Way.allCases)
    private func `a cut body is not resumed from another resource within one run`(way: Way) async throws {
        let origin = try origin(way, cutting: true)
        let (outcome, answer) = try await work.fetchJSON(origin.url("/latest"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.new.content.equalsFile(at: answer.path ?? ""))
        #expect(conditions(origin, "/fw-1.1.img").isEmpty)
        #expect(origin.requests.count <= 4)
    }

    @Test(arguments: Way.allCases)
    private func `a 304 from another resource is ignored, and that resource is fetched as a whole`(way: Way)
        async throws
    {
        let origin = try origin(way, cutting: false)
        let first = try await work.fetchJSON(origin.url("/latest")).answer
        #expect(Self.old.content.equalsFile(at: first.path ?? ""))
        let (outcome, answer) = try await work.fetchJSON("--revalidate", origin.url("/latest"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.new.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.source == "network")
        #expect(conditions(origin, "/fw-1.1.img").isEmpty)
        #expect(origin.requests.count <= 4)
    }

    @Test func `an origin that answers 304 to everything causes an error, not a splice`() async throws {
        let origin = try ScriptedOrigin { request in
            switch request.path {
            case "/latest": .redirect(to: request.number == 1 ? "/fw-1.0.img" : "/fw-1.1.img")
            case "/fw-1.0.img": Behaviour(Self.old).with { $0.cutAfter = Self.cut }
            default: .status(304, fields: [("ETag", "\"same\"")])
            }
        }
        try await work.fetchUntilCut(origin.url("/latest"))
        let outcome = try await work.fetch(origin.url("/latest"))
        #expect(outcome.ending == .exited(5), "\(outcome)")
        #expect(origin.requests.count <= 6)
    }

    @Test func `a redirect to the same resource with another signature is resumed and revalidated`() async throws {
        let origin = try origin { request in
            .redirect(
                to: "/fw-1.0.img?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=k&X-Amz-Date=\(request.number)"
                    + "&X-Amz-Signature=\(request.number)")
        }
        try await work.fetchUntilCut(origin.url("/latest"))
        let continued = try await work.fetchJSON(origin.url("/latest")).answer
        #expect(continued.resumedFrom == Self.cut)
        #expect(Self.old.content.equalsFile(at: continued.path ?? ""))
        let confirmed = try await work.fetchJSON("--revalidate", origin.url("/latest")).answer
        #expect(confirmed.source == "revalidated")
        #expect(confirmed.bytesTransferred == 0)
    }

    @Test func `--signature-parameter names a parameter that does not distinguish resources`() async throws {
        for (arguments, resumed) in [(["--signature-parameter", "verify"], Self.cut), ([], 0)] {
            let origin = try origin { .redirect(to: "/fw-1.0.img?verify=\($0.number)") }
            try await work.fetchUntilCut(origin.url("/latest"))
            let outcome = try await work.command.run(["fetch", "--json"] + arguments + [origin.url("/latest")])
            let answer = try FetchReport(outcome)
            #expect(answer.resumedFrom == resumed, "\(outcome)")
            #expect(Self.old.content.equalsFile(at: answer.path ?? ""))
        }
    }

    @Test func `a HEAD that is redirected to another resource does not make the stored one fresh`() async throws {
        let origin = try ScriptedOrigin { request in
            switch request.path {
            case "/fw-1.0.img": Behaviour(Self.old).with { $0.fields = [("Cache-Control", "max-age=3600")] }
            case "/fw-1.1.img": Behaviour(Self.new).with { $0.fields = [("Cache-Control", "max-age=3600")] }
            default:
                .redirect(
                    to: request.number == 1 ? "/fw-1.0.img" : "/fw-1.1.img", cacheControl: "max-age=3600")
            }
        }
        let cache = try DownloadCache(directory: work.directory.path("library"))
        let request = FileRequest(origin.url("/latest"))
        #expect(Self.old.content.equalsFile(at: try await cache.file(for: request).path))
        #expect(try await cache.file(for: request).source == .disk)
        var head = request
        head.method = .head
        head.policy = .reloadIgnoringLocalCacheData
        #expect(try await cache.response(for: head).head.status == .ok)
        let file = try await cache.file(for: request)
        #expect(Self.new.content.equalsFile(at: file.path))
    }

    @Test func `a stale file behind a redirect is served when the origin fails`() async throws {
        let origin = try ScriptedOrigin { request in
            switch (request.path, request.number) {
            case ("/latest", 1): .redirect(to: "/fw-1.0.img")
            case ("/latest", _): .redirect(to: "/fw-1.1.img")
            case ("/fw-1.0.img", _): Behaviour(Self.old)
            default: .status(503)
            }
        }
        var configuration = DownloadCache.Configuration()
        configuration.rules.treatsServerErrorAsUnreachable = true
        let cache = try DownloadCache(directory: work.directory.path("library"), configuration: configuration)
        var request = FileRequest(origin.url("/latest"))
        request.transfer.retry.maxRetries = 0
        _ = try await cache.file(for: request)
        let file = try await cache.file(for: request)
        #expect(file.source == .stale)
        #expect(Self.old.content.equalsFile(at: file.path))
    }
}
