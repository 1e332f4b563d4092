import Foundation
import TestSupport
import Testing

/// The destinations of a fetched file: `-o FILE`, `-o -`, `-d DIR`, `-O`.
@Suite(.fewAtATime) struct OutputTests {
    private let work: TestWorkspace
    private let content = Content(seed: 11, size: 700_000)

    init() throws {
        work = try TestWorkspace()
    }

    private func origin(disposition: String? = nil) throws -> ScriptedOrigin {
        var representation = Representation(seed: content.seed, size: content.size)
        if let disposition { representation.fields = [("Content-Disposition", disposition)] }
        return try ScriptedOrigin(serving: representation)
    }

    @Test func `-o FILE puts the file there, and later changes to it do not reach the cache`() async throws {
        let origin = try origin()
        #expect(try await work.fetch("-o", "file", origin.url("/a")).ending == .exited(0))
        #expect(content.equalsFile(at: work.output("file")))
        let handle = try FileHandle(forWritingTo: URL(filePath: work.output("file")))
        try handle.write(contentsOf: Data("changed".utf8))
        try handle.close()
        let cached = try await work.fetch(origin.url("/a"))
        #expect(content.equalsFile(at: cached.lines.first ?? ""), "\(cached)")
        #expect(origin.requests.count == 1)
    }

    @Test func `a changed hard link does not affect the next one, because the file is fetched again`() async throws {
        let origin = try origin()
        var linking = work
        linking.command.environment["IMGCACHE_LINK_MODE"] = "hardlink"
        for _ in 0..<2 {
            #expect(try await linking.fetch("-o", "file", origin.url("/a")).ending == .exited(0))
            #expect(content.equalsFile(at: work.output("file")))
        }
        #expect(origin.requests.count == 1)
        let stored = try await work.fetch(origin.url("/a")).lines.first ?? ""
        let inode = { (path: String) in
            try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        }
        #expect(try inode(stored) == inode(work.output("file")))

        #expect(chmod(work.output("file"), 0o600) == 0)
        let handle = try FileHandle(forWritingTo: URL(filePath: work.output("file")))
        try handle.write(contentsOf: Data("changed".utf8))
        try handle.close()
        let second = try await work.fetch("-o", "second", "--link-mode", "copy", origin.url("/a"))
        #expect(second.ending == .exited(0), "\(second)")
        #expect(content.equalsFile(at: work.output("second")))
        #expect(origin.requests.count == 2)
        try await work.expectSoundStore()
    }

    @Test func `an unknown link mode is a usage error, also in the environment`() async throws {
        let origin = try origin()
        #expect(try await work.fetch("--link-mode", "softlink", "-o", "a", origin.url("/a")).ending == .exited(2))
        var wrong = work
        wrong.command.environment["IMGCACHE_LINK_MODE"] = "softlink"
        let outcome = try await wrong.fetch("-o", "a", origin.url("/a"))
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("IMGCACHE_LINK_MODE"))
        #expect(try await wrong.fetch("--link-mode", "clone", "-o", "a", origin.url("/a")).ending == .exited(0))
    }

    @Test func `-o FILE appears only when it is complete, and never after a failure`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [content] request in
            Behaviour(Representation(seed: content.seed, size: content.size)).with {
                $0.bodyGate = (600_000, gate)
                if request.path == "/cut" { $0.cutAfter = 600_000 }
            }
        }
        let process = try work.command.start(["fetch", "-o", "file", origin.url("/a")])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 600_000 })
        #expect(work.outputNames == [])
        gate.open()
        #expect(await process.end() == .exited(0))
        #expect(work.outputNames == ["file"])
        #expect(content.equalsFile(at: work.output("file")))

        let failed = try await work.fetch("--retry", "0", "-o", "other", origin.url("/cut"))
        #expect(failed.ending == .exited(3), "\(failed)")
        #expect(work.outputNames == ["file"])
    }

    @Test func `deleting the cache directory during a download causes exit code 6 and advice to run again`()
        async throws
    {
        let gate = Gate()
        let origin = try ScriptedOrigin { [content] _ in
            Behaviour(Representation(seed: content.seed, size: content.size)).with { $0.bodyGate = (600_000, gate) }
        }
        let process = try work.command.start(["fetch", origin.url("/a")])
        #expect(await origin.waits { $0.first?.bodyBytesSent == 600_000 })
        try FileManager.default.removeItem(atPath: work.cache)
        gate.open()
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.ending == .exited(6) && outcome.errorOutput.contains("again"), "\(outcome)")
        #expect(try await work.fetch(origin.url("/a")).ending == .exited(0))
    }

    @Test(arguments: [
        ["-o", "file"], ["-d", ".", "--force"], ["-O", "--force"], ["-o", "other", "--report", "file"],
    ])
    func `a file in place of another has its permissions`(options: [String]) async throws {
        let origin = try origin()
        for permissions in [0o755, 0o600] {
            try "old".write(toFile: work.output("file"), atomically: false, encoding: .utf8)
            #expect(chmod(work.output("file"), mode_t(permissions)) == 0)
            let outcome = try await work.command.run(["fetch"] + options + [origin.url("/file")])
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(try String(contentsOfFile: work.output("file"), encoding: .isoLatin1) != "old")
            let attributes = try FileManager.default.attributesOfItem(atPath: work.output("file"))
            #expect(attributes[.posixPermissions] as? Int == permissions)
        }
    }

    @Test(arguments: [true, false])
    func `-o with a directory is a usage error that recommends -d`(isStored: Bool) async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: content.seed, size: content.size))
        if isStored { _ = try await work.fetch(origin.url("/a")) }
        let outcome = try await work.fetch("-o", work.output(""), origin.url("/a"))
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("is a directory; use -d"), "\(outcome)")
        #expect(origin.requests.count == (isStored ? 1 : 0))
        #expect(work.outputNames == [])
    }

    @Test func `-o FILE replaces a file whole and keeps the old one when the download fails`() async throws {
        let origin = try ScriptedOrigin { [content] request in
            request.number == 1 ? .status(404) : Behaviour(Representation(seed: content.seed, size: content.size))
        }
        try "old".write(toFile: work.output("file"), atomically: false, encoding: .utf8)
        #expect(try await work.fetch("-o", "file", origin.url()).ending == .exited(4))
        #expect(try String(contentsOfFile: work.output("file"), encoding: .utf8) == "old")
        #expect(try await work.fetch("-o", "file", origin.url()).ending == .exited(0))
        #expect(content.equalsFile(at: work.output("file")))
    }

    @Test func `-o - streams to standard output, a pipe included, and prints nothing else`() async throws {
        let origin = try origin()
        let outcome = try await work.fetch("-o", "-", origin.url("/a"))
        #expect(outcome.ending == .exited(0))
        #expect(outcome.outputBytes == content.bytes())
        let piped = try await work.command.shell("\"$IMGCACHE\" fetch -o - \(origin.url("/b")) | sha256sum")
        #expect(piped.output.hasPrefix(content.sha256), "\(piped)")
    }

    @Test func `-o - into a pipe that is closed early ends without a crash`() async throws {
        let origin = try origin()
        let piped = try await work.command.shell(
            "set -o pipefail; \"$IMGCACHE\" fetch -o - \(origin.url("/b")) | head -c 10 | wc -c; echo ${PIPESTATUS[0]}")
        #expect(piped.lines.first == "10", "\(piped)")
        #expect(!piped.errorOutput.lowercased().contains("fatal"), "\(piped)")
        let status = try #require(piped.lines.last.flatMap { Int($0) })
        #expect(status < 128 || status == 141, "\(piped)")
    }

    @Test func `-O names the file by the URL, -d puts it into a folder that is made`() async throws {
        let origin = try origin()
        #expect(try await work.fetch("-O", origin.url("/x/pict%20ure.png?size=1#part")).lines == ["./pict ure.png"])
        #expect(content.equalsFile(at: work.output("pict ure.png")))
        #expect(try await work.fetch("-d", "folder", origin.url("/b.bin")).ending == .exited(0))
        #expect(content.equalsFile(at: work.output("folder/b.bin")))
    }

    @Test func `-O does not overwrite without --force`() async throws {
        let origin = try origin()
        try "mine".write(toFile: work.output("a.png"), atomically: false, encoding: .utf8)
        let refused = try await work.fetch("-O", origin.url("/a.png"))
        #expect(refused.ending != .exited(0), "\(refused)")
        #expect(refused.errorOutput.contains("a.png"))
        #expect(try String(contentsOfFile: work.output("a.png"), encoding: .utf8) == "mine")
        #expect(try await work.fetch("-O", "--force", origin.url("/a.png")).ending == .exited(0))
        #expect(content.equalsFile(at: work.output("a.png")))
    }

    @Test(arguments: [
        ("attachment; filename=\"plain.bin\"", "plain.bin"),
        ("attachment; filename=\"../../evil.bin\"", "evil.bin"),
        ("attachment; filename=\"/etc/cron.d/evil\"", "evil"),
        ("attachment; filename=\"..\\\\..\\\\evil.bin\"", "evil.bin"),
        ("attachment; filename=\"-rf\"", "rf"),
        ("attachment; filename=\".bashrc\"", "bashrc"),
        ("attachment; filename=\"a\u{1B}[31mb\tc\"", "a [31mbc"),
        ("attachment; filename*=UTF-8''..%2F..%2Fevil.bin", "evil.bin"),
        ("attachment; filename*=UTF-8''%e2%82%ac%00.bin; filename=\"other\"", "€.bin"),
        ("attachment; filename=\"..\"", "url-name"),
        ("attachment; filename=\"\"", "url-name"),
        ("attachment; filename=\"\(String(repeating: "x", count: 5000))\"", String(repeating: "x", count: 200)),
    ])
    func `a hostile Content-Disposition names one harmless file in the folder`(
        disposition: String, expected: String
    ) async throws {
        let origin = try origin(disposition: disposition)
        let outcome = try await work.fetch("-d", "in", origin.url("/url-name"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(DiskUsage.files(at: work.output("in")) == [expected])
        #expect(work.outputNames == ["in"])
        #expect(!FileManager.default.fileExists(atPath: work.directory.path("evil.bin")))
    }
}
