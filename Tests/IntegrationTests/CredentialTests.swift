import Foundation
import TestSupport
import Testing

/// Credentials go to the origin they were given for, and nowhere else.
@Suite(.fewAtATime) struct CredentialTests {
    private let work: TestWorkspace
    private let representation = Representation(seed: 31, size: 3000)

    init() throws {
        work = try TestWorkspace()
    }

    @Test(arguments: [
        ["-u", "me:secret"], ["-H", "Authorization: Bearer secret"], ["-H", "Cookie: session=secret"],
        ["-H", "Proxy-Authorization: Basic secret"],
    ])
    func `a redirect to another origin takes no credentials along`(arguments: [String]) async throws {
        let other = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { _ in .redirect(to: other.url("/there")) }
        let outcome = try await work.command.run(["fetch"] + arguments + [origin.url("/here")])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let sent = try #require(other.requests.first)
        #expect(!sent.request.fields.contains { $0.value.contains("secret") || $0.value.hasPrefix("Basic") })
    }

    @Test func `a redirect to the same port under another name takes no credentials along`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            request.path == "/there"
                ? Behaviour(representation)
                : .redirect(to: "http://localhost:\(request["Host"]?.split(separator: ":").last ?? "")/there")
        }
        let outcome = try await work.fetch("-u", "me:secret", "-H", "Cookie: a=secret", origin.url("/here"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(origin.requests.first?["Authorization"] != nil)
        #expect(origin.requests.last?["Authorization"] == nil)
        #expect(origin.requests.last?["Cookie"] == nil)
    }

    @Test func `a redirect within the origin keeps them`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            request.path == "/there" ? Behaviour(representation) : .redirect(to: "/there")
        }
        #expect(try await work.fetch("-u", "me:secret", origin.url("/here")).ending == .exited(0))
        #expect(origin.requests.count == 2)
        #expect(origin.requests.allSatisfy { $0["Authorization"] == "Basic bWU6c2VjcmV0" })
    }

    @Test func `with several URLs, -u goes to each URL's own origin`() async throws {
        let first = try ScriptedOrigin(serving: representation)
        let second = try ScriptedOrigin(serving: representation)
        #expect(try await work.fetch("-u", "me:secret", first.url(), second.url()).ending == .exited(0))
        #expect(first.requests.first?["Authorization"] == "Basic bWU6c2VjcmV0")
        #expect(second.requests.first?["Authorization"] == "Basic bWU6c2VjcmV0")
    }

    @Test func `--netrc sends the entry of the host, and only when it is asked to`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        try work.directory.write("machine 127.0.0.1 login me password secret\n", to: ".netrc")
        #expect(try await work.fetch(origin.url("/without")).ending == .exited(0))
        #expect(try await work.fetch("--netrc", origin.url("/with")).ending == .exited(0))
        #expect(origin.requests(to: "/without").first?["Authorization"] == nil)
        #expect(origin.requests(to: "/with").first?["Authorization"] == "Basic bWU6c2VjcmV0")
    }

    @Test func `a file fetched with --netrc's credentials is not used without them`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: request["Authorization"] == nil ? 2 : 1, size: 3000))
        }
        try work.directory.write("machine 127.0.0.1 login me password secret\n", to: ".netrc")
        let mine = try await work.fetchJSON("--netrc", origin.url()).answer
        let nobodys = try await work.fetchJSON(origin.url()).answer
        #expect(Content(seed: 1, size: 3000).equalsFile(at: mine.path ?? ""))
        #expect(Content(seed: 2, size: 3000).equalsFile(at: nobodys.path ?? ""))
        #expect(try await work.fetchJSON("--netrc", origin.url()).answer.path == mine.path)
        #expect(origin.requests.count == 2)
    }

    @Test func `a password that a redirect names is not written to disk`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            let host = request["Host"] ?? ""
            return request.path == "/there"
                ? Behaviour(representation) : .redirect(to: "http://me:s3cr3t@\(host)/there")
        }
        let outcome = try await work.fetch("-v", "--json", origin.url("/here"))
        #expect(outcome.ending == .exited(0))
        #expect(!"\(outcome)".contains("s3cr3t"), "\(outcome)")
        for file in DiskUsage.files(at: work.cache) {
            let bytes = FileManager.default.contents(atPath: "\(work.cache)/\(file)") ?? Data()
            #expect(bytes.range(of: Data("s3cr3t".utf8)) == nil, "\(file)")
        }
    }

    @Test(arguments: [
        ["fetch", "--proxy", "me:s3cr3t@@no proxy", "--retry", "0", "http://127.0.0.1:9/"],
        ["fetch", "-H", "Authorization Bearer s3cr3t", "http://127.0.0.1:9/"],
        ["fetch", "--json", "me:s3cr3t@127.0.0.1:9/"],
        ["info", "http://me:s3cr3t@127.0.0.1:9/"], ["info", "--json", "http://me:s3cr3t@127.0.0.1:9/"],
        ["path", "http://me:s3cr3t@127.0.0.1:9/"], ["rm", "--json", "http://me:s3cr3t@127.0.0.1:9/"],
    ])
    func `no error message repeats a password`(arguments: [String]) async throws {
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending != .exited(0), "\(outcome)")
        #expect(!outcome.errorOutput.isEmpty)
        #expect(!"\(outcome)".contains("s3cr3t"), "\(outcome)")
    }

    @Test func `credentials in the URL are sent, but appear in no message, list or cache file`()
        async throws
    {
        let origin = try ScriptedOrigin { [representation] request in
            request.path == "/missing" ? .status(404) : Behaviour(representation)
        }
        let url = origin.url("/a").replacingOccurrences(of: "http://", with: "http://me:s3cr3t@")
        #expect(try await work.fetch(url).ending == .exited(0))
        #expect(origin.requests.first?["Authorization"] != nil)
        let missing = url.replacingOccurrences(of: "/a", with: "/missing")
        let failed = try await work.fetch("-v", missing)
        #expect(failed.ending == .exited(4))
        #expect(!failed.errorOutput.contains("s3cr3t"), "\(failed)")
        let (_, answer) = try await work.fetchJSON(url)
        #expect(answer.url == origin.url("/a"))
        let listed = try await work.run("ls", "--json")
        #expect(!listed.output.contains("s3cr3t"), "\(listed)")
        for file in DiskUsage.files(at: work.cache) {
            let bytes = FileManager.default.contents(atPath: "\(work.cache)/\(file)") ?? Data()
            #expect(bytes.range(of: Data("s3cr3t".utf8)) == nil, "\(file)")
        }
    }

    @Test(arguments: [
        (["-u", "me:s3cr3t"], ["-u", "me"], "user:me"), (["-u", "me:s3cr3t"], ["-u", "me:other"], "user:me"),
        (["-u", "s3cr3t:"], ["-u", "s3cr3t:"], "authorization"),
        (["-H", "Authorization: Bearer s3cr3t"], ["-H", "authorization: Bearer s3cr3t"], "authorization"),
        (["--netrc"], ["--netrc"], "netrc"), (["--owner", "me"], ["--owner", "me"], "owner:me"),
    ])
    func `an entry fetched with credentials is found, shown and removed by naming them`(
        brought: [String], named: [String], namespace: String
    ) async throws {
        let origin = try ScriptedOrigin(serving: representation)
        try work.directory.write("machine 127.0.0.1 login me password s3cr3t\n", to: ".netrc")
        let path = try await work.command.run(["fetch"] + brought + [origin.url()]).lines.first
        let listed = try await work.run("ls")
        #expect(listed.output.contains("(\(namespace))") && !listed.output.contains("s3cr3t"), "\(listed)")
        #expect(try await work.run("ls", "--json").objects.first?["namespace"] as? String == namespace)
        #expect(try await work.run("path", origin.url()).ending == .exited(7))
        #expect(try await work.command.run(["path"] + named + [origin.url()]).lines.first == path)
        #expect(try await work.command.run(["info"] + named + [origin.url()]).ending == .exited(0))
        #expect(try await work.command.run(["clear", "--owner", "another"]).output.hasPrefix("removed 0 entries"))
        #expect(try await work.command.run(["clear"] + named).output.hasPrefix("removed 1 entry"))
        _ = try await work.command.run(["fetch"] + brought + [origin.url()])
        #expect(try await work.run("rm", origin.url()).ending == .exited(7))
        #expect(try await work.command.run(["rm"] + named + [origin.url()]).ending == .exited(0))
        #expect(try await work.run("ls").output.isEmpty)
    }

    @Test func `an answer to one user's credentials is not another user's hit`() async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: request["Authorization"] == "Basic YWxpY2U6MQ==" ? 1 : 2, size: 3000))
        }
        let alice = try await work.fetchJSON("-u", "alice:1", origin.url()).answer
        let bob = try await work.fetchJSON("-u", "bob:2", origin.url()).answer
        let nobody = try await work.fetchJSON(origin.url()).answer
        #expect(Content(seed: 1, size: 3000).equalsFile(at: alice.path ?? ""))
        #expect(Content(seed: 2, size: 3000).equalsFile(at: bob.path ?? ""))
        #expect(Content(seed: 2, size: 3000).equalsFile(at: nobody.path ?? ""))
        #expect(origin.requests.count == 3)
    }
}
