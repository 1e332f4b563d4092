import Foundation
import Glibc
import TestSupport
import Testing

/// Presigned and tokenised URLs at the shell: one file, whatever the token.
@Suite(.serialized, .fewAtATime)
struct PresignedURLTests {
    private static let size: Int64 = 5_000_000

    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 7, size: Self.size)).with {
                // The kill comes in the middle of the body.
                if request.path.contains("stalls") { $0.stallAfter = request["Range"] == nil ? 2_000_000 : nil }
            }
        }
    }

    private func presigned(_ token: String, of path: String = "/file") -> String {
        origin.url(
            path
                + "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F1&X-Amz-Date=20261122T000000Z&X-Amz-Expires=60"
                + "&X-Amz-SignedHeaders=host&X-Amz-Signature=\(token)")
    }

    private var content: Content { Content(seed: 7, size: Self.size) }

    @Test func `a file under a new signature is a hit, listed and removed without its signature`() async throws {
        let first = try await work.fetchJSON(presigned("01")).answer
        let second = try await work.fetchJSON(presigned("02")).answer
        #expect(first.source == "network")
        #expect(second.source == "fresh")
        #expect(second.path == first.path)
        #expect(try await work.fetch(presigned("03")).lines == [first.path ?? ""])
        #expect(origin.requests.count == 1)
        let listed = try await work.run("ls", "--json").objects.compactMap { $0["url"] as? String }
        #expect(listed == [origin.url("/file")])
        #expect(try await work.run("rm", presigned("04")).ending == .exited(0))
        #expect(try await work.fetchJSON(presigned("05")).answer.source == "network")
    }

    @Test func `a download that was killed is continued under a new token`() async throws {
        for (token, arguments) in [("X", [String]()), ("token", ["--ignore-param", "tok*"])] {
            func url(_ number: Int) -> String {
                token == "X" ? presigned("0\(number)", of: "/stalls") : origin.url("/stalls/too?token=\(number)")
            }
            let process = try work.command.start(["fetch"] + arguments + [url(1)])
            #expect(await work.waitForRecordedBytes(4 * blockSize))
            process.send(signal: SIGKILL)
            _ = await process.end()
            let before = work.recordedBytes(in: work.cache)
            let answer = try await work.fetchJSON(arguments + [url(2)]).answer
            #expect(answer.source == "resumed")
            #expect(answer.resumedFrom >= before)
            #expect(content.equalsFile(at: answer.path ?? ""))
            #expect(origin.requests.last?["If-Range"] == "\"v7\"")
        }
    }

    @Test func `the rules in imgcache.json hold for every command`() async throws {
        try FileManager.default.createDirectory(atPath: work.cache, withIntermediateDirectories: true)
        let rules =
            #"{"keys": {"ignore": [{"parameters": ["token"], "hosts": ["127.0.0.1"]}], "unordered": ["127.0.0.1"]}}"#
        try Data(rules.utf8).write(to: URL(filePath: work.cache + "/imgcache.json"))
        _ = try await work.fetch(origin.url("/file?token=1&b=2&a=1"))
        #expect(try await work.fetchJSON(origin.url("/file?a=1&token=2&b=2")).answer.source == "fresh")
        #expect(try await work.run("pin", "set", origin.url("/file?a=1&b=2&token=2")).ending == .exited(0))
        #expect(origin.requests.count == 1)
        #expect(try await work.run("unpin", "set").ending == .exited(0))
        #expect(try await work.run("info", origin.url("/file?b=2&a=1&token=3")).ending == .exited(0))
        #expect(try await work.run("rm", origin.url("/file?b=2&a=1&token=4")).ending == .exited(0))
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: [
        (#"{"keys": {"ignored": []}}"#, "keys.ignored"), ("{", "line 1, column 2: the text ends too early"),
        (#"{"keys": {"ignore": [{}]}}"#, "parameters"),
        (#"{"keys": {"unordered": "a"}}"#, "keys.unordered"),
    ])
    func `an error in imgcache.json is one error that names the file and the member`(text: String, problem: String)
        async throws
    {
        try FileManager.default.createDirectory(atPath: work.cache, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: work.cache + "/imgcache.json"))
        let outcome = try await work.fetch(origin.url("/file"))
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("imgcache.json"), "\(outcome)")
        #expect(outcome.errorOutput.contains(problem), "\(outcome)")
        #expect(origin.requests.isEmpty)
    }

    @Test func `--key joins URLs that differ in their path`() async throws {
        let key = origin.url("/file")
        _ = try await work.fetch("--key", key, origin.url("/t1/file"))
        #expect(try await work.fetchJSON("--key", key, origin.url("/t2/file")).answer.source == "fresh")
        #expect(try await work.fetchJSON(key).answer.source == "fresh")
        let several = try await work.fetch("--key", key, origin.url("/1"), origin.url("/2"))
        #expect(several.ending == .exited(2))
    }

    @Test func `one user's file under a signed URL is never another's`() async throws {
        _ = try await work.fetch("--owner", "ann", presigned("01"))
        #expect(try await work.fetchJSON("--owner", "bob", presigned("02")).answer.source == "network")
        #expect(try await work.fetchJSON(presigned("03")).answer.source == "network")
        #expect(try await work.fetchJSON("-u", "ann:secret", presigned("04")).answer.source == "network")
        #expect(try await work.fetchJSON("--owner", "ann", presigned("05")).answer.source == "fresh")
    }
}
