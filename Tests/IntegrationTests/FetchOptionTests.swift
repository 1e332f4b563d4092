import Foundation
import TestSupport
import Testing

/// The options of `imgcache fetch` that shape the request and the answer.
@Suite(.fewAtATime) struct FetchOptionTests {
    private let work: TestWorkspace
    private let representation = Representation(
        seed: 21, size: 5000, lastModified: Date(timeIntervalSince1970: 1_700_000_000))

    init() throws {
        work = try TestWorkspace()
    }

    private func origin() throws -> ScriptedOrigin { try ScriptedOrigin(serving: representation) }

    @Test func `-i adds the URLs of a file, without its comments and blank lines`()
        async throws
    {
        let origin = try origin()
        let list = try work.directory.write(
            "# a list\n\(origin.url("/1"))\n\n  \(origin.url("/2"))  \r\n#\(origin.url("/no"))\n", to: "list")
        let outcome = try await work.fetch("-i", list, origin.url("/0"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines.count == 3)
        #expect(origin.requests.map(\.request.path).sorted() == ["/0", "/1", "/2"])
    }

    @Test func `--expand fetches all URLs of a pattern, which is a plain URL without the option`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch("--expand", "--tree", "out", origin.url("/{a,b}/part-[08-10]"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(
            Set(origin.requests.map(\.request.path)) == [
                "/a/part-08", "/a/part-09", "/a/part-10", "/b/part-08", "/b/part-09", "/b/part-10",
            ])
    }

    @Test func `-i - reads URLs from standard input`() async throws {
        let origin = try origin()
        let list = try work.directory.write((1...20).map { origin.url("/\($0)") }.joined(separator: "\n"), to: "list")
        let outcome = try await work.command.run(["fetch", "-i", "-", "-j", "3"], input: list)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines.count == 20)
        #expect(Set(outcome.lines).count == 20)
        #expect(origin.connections <= 3)
    }

    @Test func `paths are printed in the order of the URLs, whatever order they arrive in`() async throws {
        let slow = Gate()
        let origin = try ScriptedOrigin { [representation] request in
            Behaviour(Representation(seed: request.path == "/slow" ? 1 : 2, size: representation.size)).with {
                if request.path == "/slow" { $0.gate = slow }
            }
        }
        let process = try work.command.start(["fetch", origin.url("/slow"), origin.url("/quick")])
        #expect(await origin.waits { $0.contains { $0.request.path == "/quick" && $0.ending == .completed } })
        slow.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.lines.count == 2)
        #expect(Content(seed: 1, size: 5000).equalsFile(at: outcome.lines.first ?? ""))
        #expect(Content(seed: 2, size: 5000).equalsFile(at: outcome.lines.last ?? ""))
    }

    @Test func `--json reports all details of a download and of a later hit`() async throws {
        let origin = try origin()
        let hash = representation.content.sha256
        let (outcome, answer) = try await work.fetchJSON("--sha256", hash.uppercased(), origin.url("/a#part"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.url == origin.url("/a#part"))
        #expect(answer.finalURL == origin.url("/a"))
        #expect(answer.status == 200)
        #expect(answer.source == "network")
        #expect(answer.size == 5000)
        #expect(answer.bytesTransferred == 5000)
        #expect(answer.resumedFrom == 0)
        #expect(answer.etag == representation.etag)
        #expect(answer.lastModified == "Tue, 14 Nov 2023 22:13:20 GMT")
        #expect(answer.contentType == "application/octet-stream")
        #expect(answer.sha256 == hash)
        #expect(answer.error == nil)
        #expect(representation.content.equalsFile(at: answer.path ?? ""))

        let hit = try await work.fetchJSON(origin.url("/a")).answer
        #expect(hit.source == "fresh")
        #expect(hit.bytesTransferred == 0)
        #expect(hit.path == answer.path)
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: ["fetch", "thumb"], ["-", "/dev/stdout", "/dev/fd/1"])
    func `--json cannot be combined with a body on standard output`(command: String, output: String) async throws {
        let outcome = try await work.run(command, "--json", "-o", output, "http://origin.invalid/a")
        #expect(outcome.ending == .exited(2) && outcome.outputBytes.isEmpty, "\(outcome)")
    }

    @Test func `--json reports a failure with the URL and the reason`() async throws {
        let origin = try ScriptedOrigin { _ in .status(410) }
        let (outcome, answer) = try await work.fetchJSON(origin.url("/gone"))
        #expect(outcome.ending == .exited(4))
        #expect(answer.url == origin.url("/gone"))
        #expect(answer.status == 410)
        #expect(answer.error?.contains("410") == true)
    }

    @Test func `--sha256 stores a matching file and refuses a cached file that does not match`() async throws {
        let origin = try origin()
        let hash = representation.content.sha256
        #expect(try await work.fetch("--sha256", hash, origin.url("/a")).ending == .exited(0))
        #expect(try await work.fetch("--sha256", hash, "--offline", origin.url("/a")).ending == .exited(0))
        let wrong = try await work.fetch("--sha256", String(repeating: "a", count: 64), origin.url("/a"))
        #expect(wrong.ending == .exited(5), "\(wrong)")
    }

    @Test func `--sha256 also verifies a resumed download`() async throws {
        let big = Representation(seed: 22, size: 3_000_000)
        let origin = try ScriptedOrigin { request in
            Behaviour(big).with { if request.number == 1 { $0.cutAfter = 1_500_000 } }
        }
        try await work.fetchUntilCut(origin.url())
        let (outcome, answer) = try await work.fetchJSON("--sha256", big.content.sha256, origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.source == "resumed")
        #expect(answer.resumedFrom == 1_500_000)
    }

    @Test func `--refresh fetches again, and --offline sends no request`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: UInt64(request.number), size: 5000, cacheControl: "max-age=0"))
        }
        #expect(try await work.fetch(origin.url()).ending == .exited(0))
        let offline = try await work.fetchJSON("--offline", origin.url()).answer
        #expect(Content(seed: 1, size: 5000).equalsFile(at: offline.path ?? ""))
        #expect(origin.requests.count == 1)
        let refreshed = try await work.fetchJSON("--refresh", origin.url()).answer
        #expect(refreshed.source == "network")
        #expect(Content(seed: 2, size: 5000).equalsFile(at: refreshed.path ?? ""))
    }

    @Test func `a stale file is revalidated with its ETag, and a 304 costs no body`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 23, size: 5000, cacheControl: "no-cache"))
        #expect(try await work.fetch(origin.url()).ending == .exited(0))
        let answer = try await work.fetchJSON(origin.url()).answer
        #expect(answer.source == "revalidated")
        #expect(answer.bytesTransferred == 0)
        #expect(origin.requests.last?["If-None-Match"] == "\"v23\"")
        #expect(origin.bodyBytesSent == 5000)
    }

    @Test func `--max-filesize refuses a larger body before its first byte, and a chunked one at the limit`()
        async throws
    {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 24, size: 3_000_000)).with {
                if request.path == "/chunked" { $0.framing = .chunked }
            }
        }
        let known = try await work.fetch("--max-filesize", "1MB", origin.url("/known"))
        #expect(known.ending == .exited(6), "\(known)")
        let unknown = try await work.fetch("--max-filesize", "1MB", origin.url("/chunked"))
        #expect(unknown.ending == .exited(6), "\(unknown)")
        #expect(try await work.fetch("--max-filesize", "3MB", origin.url("/fits")).ending == .exited(0))
        #expect(DiskUsage.bytes(at: work.cache) < 3_500_000)
    }

    @Test func `-H, -A and the URL's credentials are sent as given`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch(
            "-H", "X-Test: a: b", "-H", "Accept: image/png", "-A", "agent/1", "-u", "me:se:cret", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let request = try #require(origin.requests.first)
        #expect(request["X-Test"] == "a: b")
        #expect(request["Accept"] == "image/png")
        #expect(request["User-Agent"] == "agent/1")
        #expect(request["Authorization"] == "Basic bWU6c2U6Y3JldA==")
        #expect(request["Accept-Encoding"] == "identity")
    }

    @Test func `-H Accept-Encoding is sent as given`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch("-H", "Accept-Encoding: gzip", origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(origin.requests.first?["Accept-Encoding"] == "gzip")
    }

    @Test func `-v shows both heads with credentials masked, on standard error only`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch(
            "-v", "-u", "me:secret", "-H", "Cookie: session=hidden", "-H", "X-Plain: shown", origin.url())
        #expect(outcome.lines.count == 1)
        #expect(outcome.errorOutput.contains("X-Plain: shown") || outcome.errorOutput.contains("x-plain: shown"))
        #expect(outcome.errorOutput.contains("200"))
        #expect(!outcome.errorOutput.contains("secret"))
        #expect(!outcome.errorOutput.contains("bWU6c2VjcmV0"))
        #expect(!outcome.errorOutput.contains("hidden"))
    }

    @Test func `a redirect is followed to --max-redirs and no further`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            guard let hops = Int(request.path.dropFirst()), hops > 0 else { return Behaviour(representation) }
            return .redirect(to: "/\(hops - 1)")
        }
        let (outcome, answer) = try await work.fetchJSON(origin.url("/3"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.finalURL == origin.url("/0"))
        let refused = try await work.fetch("--max-redirs", "2", origin.url("/4"))
        #expect(refused.ending == .exited(4), "\(refused)")
        #expect(try await work.fetch("--max-redirs", "0", origin.url("/5")).ending == .exited(4))
        let toFile = try ScriptedOrigin { _ in .redirect(to: "file:///etc/passwd") }
        let forbidden = try await work.fetch("--retry", "0", toFile.url())
        #expect(forbidden.ending == .exited(4), "\(forbidden)")
        #expect(forbidden.lines.isEmpty)
    }

    @Test func `-m gives up on an origin that stalls`() async throws {
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 25, size: 1_000_000)).with { $0.stallAfter = 600_000 }
        }
        let outcome = try await work.fetch("-m", "0.5", "--retry", "0", origin.url())
        #expect(outcome.ending == .exited(3), "\(outcome)")
    }

    @Test func `a HTTP proxy from --proxy or the environment is asked`() async throws {
        let proxy = try origin()
        #expect(try await work.fetch("--proxy", proxy.url(""), "http://origin.invalid/a").ending == .exited(0))
        #expect(proxy.requests.last?.request.target == "http://origin.invalid/a")
        var work = work
        work.command.environment["http_proxy"] = proxy.url("")
        #expect(try await work.fetch("http://origin.invalid/b").ending == .exited(0))
        #expect(proxy.requests.last?.request.target == "http://origin.invalid/b")
    }

    @Test func `-q prints nothing for a successful fetch`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch("-q", origin.url())
        #expect(outcome.ending == .exited(0))
        #expect(outcome.errorOutput.isEmpty)
    }

    @Test func `-A selects the variant of a response that varies on User-Agent`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            var representation = Representation(seed: request["User-Agent"] == "other/1.0" ? 2 : 1, size: 3000)
            representation.fields = [("Vary", "User-Agent")]
            return Behaviour(representation)
        }
        let one = try await work.fetchJSON(origin.url()).answer
        let other = try await work.fetchJSON("-A", "other/1.0", origin.url()).answer
        #expect(Content(seed: 1, size: 3000).equalsFile(at: one.path ?? ""))
        #expect(Content(seed: 2, size: 3000).equalsFile(at: other.path ?? ""))
        #expect(try await work.fetchJSON("-A", "other/1.0", origin.url()).answer.path == other.path)
        #expect(origin.requests.count == 2)
    }

    @Test func `fetch revalidates before it answers, despite stale-while-revalidate`() async throws {
        let work = try TestWorkspace()
        let control = "max-age=0, stale-while-revalidate=1000"
        let origin = try ScriptedOrigin { request in
            if request.number == 3 { return .status(503) }
            return Behaviour(Representation(seed: UInt64(request.number), size: 3000, cacheControl: control))
        }
        #expect(try await work.fetchJSON(origin.url()).answer.source == "network")
        let second = try await work.fetchJSON(origin.url()).answer
        #expect(second.source == "network")
        #expect(Content(seed: 2, size: 3000).equalsFile(at: second.path ?? ""))
        // While the origin fails, a stale response is used.
        #expect(try await work.fetchJSON("--retry", "0", origin.url()).answer.source == "stale")
    }
}
