import ConcurrencyPrimitives
import Foundation
import Glibc
import TestSupport
import Testing

/// Sets of files at the shell: lists in all their forms, trees, checksums, mirrors, failures and kills.
@Suite(.fewAtATime(limit: .seconds(120))) struct DataSetTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin
    /// While open, every fourth response is 503 and others are cut.
    private let isFlaky = Locked(false)

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { [isFlaky] request in
            let name = request.path.split(separator: "/").last.map(String.init) ?? ""
            guard let seed = UInt64(name.filter(\.isNumber)) else { return .status(404) }
            let isFlaky = isFlaky.withLock { $0 }
            if isFlaky, request.number % 4 == 0 { return .status(503) }
            return Behaviour(Self.representation(seed)).with {
                if isFlaky, request.number % 3 == 0 { $0.cutAfter = 300_000 }
                if isFlaky { $0.bytesPerSecond = 20_000_000 }
            }
        }
    }

    private static func representation(_ seed: UInt64) -> Representation {
        Representation(seed: seed, size: 100_000 + Int64(seed) * 40_000)
    }

    private static func bytes(_ seed: UInt64) -> [UInt8] {
        let content = representation(seed).content
        var bytes = [UInt8](repeating: 0, count: Int(content.size))
        content.fill(&bytes, from: 0)
        return bytes
    }

    private static func sum(_ seed: UInt64) -> String { SHA256.hex(of: bytes(seed)) }

    private func expect(_ path: String, is seed: UInt64, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(
            SHA256.hex(ofFile: work.output(path)) == Self.sum(seed), "\(path)", sourceLocation: sourceLocation)
    }

    private func list(_ name: String, _ text: String) throws -> String {
        try work.directory.write(text, to: "output/\(name)")
        return name
    }

    /// The bodies in the store.
    private var bodies: [String] { DiskUsage.files(at: work.cache).filter { $0.hasPrefix("bodies/") } }

    // MARK: Limits

    /// Beyond the soft limit it may go by itself.
    @Test(arguments: ["", "-S"])
    func `with few file descriptors, fewer downloads run at once`(kind: String) async throws {
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.representation(UInt64(request.number))).with { $0.bytesPerSecond = 2_000_000 }
        }
        let count = 40
        let list = try list("l", (1...count).map { "\(origin.url("/\($0)"))\n" }.joined())
        let outcome = try await work.command.shell(
            "ulimit \(kind) -n 64; exec \"$IMGCACHE\" fetch -i \(list) -d set -j 100 --retry 0")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines.count == count)
    }

    // MARK: Lists

    @Test func `an aria2 input file names files, mirrors and checksums`() async throws {
        let bad = origin.localhostURL("/nothing")
        let text =
            "\(bad)\t\(origin.url("/1"))\n  out=a/one\n  checksum=sha-256=\(Self.sum(1))\n  split=4\n"
            + "\(origin.url("/2"))\n  dir=b\n  out=two\n"
        let outcome = try await work.fetch("-i", try list("l", text), "-d", "set", "--json", "--ordered")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect("set/a/one", is: 1)
        expect("set/b/two", is: 2)
        #expect(outcome.objects.first?["sha256"] as? String == Self.sum(1))
        #expect(outcome.objects.first?["final_url"] as? String == origin.url("/1"))
        #expect(outcome.errorOutput.contains("answered 404; another mirror is asked"), "\(outcome)")
        #expect(outcome.errorOutput.contains("split= is passed over"), "\(outcome)")
    }

    @Test func `a list of checksums is verified, and a second run sends no requests`() async throws {
        let names = (1...6).map { "shards/\($0).bin" }
        let sums = names.enumerated().map { "\(Self.sum(UInt64($0 + 1)))  \($1)\n" }.joined()
        let arguments = ["-i", try list("SHA256SUMS", sums), "--base-url", origin.url("/set"), "-d", "set"]
        let first = try await work.command.run(["fetch"] + arguments)
        #expect(first.ending == .exited(0), "\(first)")
        for (index, name) in names.enumerated() { expect("set/\(name)", is: UInt64(index + 1)) }
        #expect(origin.requests.count == 6)
        let second = try await work.command.run(["fetch"] + arguments)
        #expect(second.ending == .exited(0) && second.output == first.output, "\(second)")
        #expect(origin.requests.count == 6)
        let checked = try await work.command.shell("cd set && sha256sum --quiet -c ../SHA256SUMS")
        #expect(checked.ending == .exited(0), "\(checked)")
    }

    @Test(arguments: ["--failed", "--report"])
    func `a file of the run that cannot be written is an error before anything is fetched`(
        option: String
    ) async throws {
        for (path, reason) in [
            ("missing/file", "does not exist"), (".", "is a directory"), ("/dev/null/file", "is not a directory"),
        ] {
            let outcome = try await work.fetch(option, path, origin.url("/1"))
            #expect(outcome.ending == .exited(6), "\(outcome)")
            #expect(outcome.errorOutput.lowercased().contains(reason), "\(outcome)")
        }
        for path in ["missing/file", "mad/file", "made2/file"] {
            let outcome = try await work.fetch(option, path, "-d", "made", origin.url("/1"))
            #expect(outcome.ending == .exited(6), "\(outcome)")
            #expect(outcome.errorOutput.contains("does not exist"), "\(outcome)")
        }
        #expect(origin.requests.isEmpty)
        // The folder of the run's files is made with the first of them.
        for (path, folder) in [
            ("made/file", "made"), ("/dev/null", "made"), ("./other/file", "other"),
            (work.output("third/file"), "./third"),
        ] {
            let outcome = try await work.fetch(option, path, "-d", folder, "--force", origin.url("/1"))
            #expect(outcome.ending == .exited(0), "\(outcome)")
        }
        #expect(FileManager.default.fileExists(atPath: work.output("made/file")))
    }

    @Test func `a wrong checksum fails only its own file, which the list of failures names`() async throws {
        let text =
            "\(origin.url("/1"))\n  out=one\n\(origin.url("/2"))\n  out=two\n  checksum=sha-256=\(Self.sum(3))\n"
            + "\(origin.url("/none"))\n"
        let outcome = try await work.fetch(
            "-i", try list("l", text), "-d", "set", "--retry", "0", "--failed", "failed", "--report", "report")
        #expect(outcome.ending == .exited(5), "\(outcome)")
        expect("set/one", is: 1)
        #expect(outcome.errorOutput.contains("l:3: "), "\(outcome)")
        let failed = try String(contentsOfFile: work.output("failed"), encoding: .utf8)
        let kept = failed.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            kept == [
                "\(origin.url("/2"))", "  out=two", "  checksum=sha-256=\(Self.sum(3))", "\(origin.url("/none"))",
            ])
        let report = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: work.output("report"))))
                as? [String: Any])
        #expect(report["files"] as? Int == 3 && report["arrived"] as? Int == 1 && report["failed"] as? Int == 2)
        #expect(report["exit_code"] as? Int == 5)
        #expect((report["kinds"] as? [String: Int]) == ["wrong-bytes": 1, "status": 1])
        let again = try await work.fetch("-i", "failed", "-d", "set", "--retry", "0", "--no-keep-going", "-j", "1")
        #expect(again.ending == .exited(5), "\(again)")
        #expect(origin.requests(to: "/none").count == 1)
    }

    @Test func `an endless line or Metalink document on standard input is rejected`() async throws {
        let lines = try await work.command.shell(
            "{ head -c 16M /dev/zero | tr '\\0' a; printf '\\n%s\\n' \(origin.url("/1")); } | \"$IMGCACHE\" fetch -i - -d set"
        )
        #expect(lines.ending == .exited(2), "\(lines)")
        #expect(lines.errorOutput.contains("standard input:1: is longer than 64 KiB"), "\(lines)")
        expect("set/1", is: 1)
        let document = try await work.command.shell("{ printf '<'; yes; } | \"$IMGCACHE\" fetch -i - -d set")
        #expect(document.ending == .exited(2), "\(document)")
        #expect(document.errorOutput.contains("is longer than 64 MiB"), "\(document)")
    }

    @Test func `a list file beyond the size limit is rejected`() async throws {
        let outcome = try await work.fetch("-i", "/dev/zero")
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("/dev/zero: is larger than 256 MiB"), "\(outcome)")
    }

    @Test func `the list of failures is readable by its owner alone and contains no password`() async throws {
        let signed = origin.url("/none?X-Amz-Signature=0f")
        let secret = origin.url("/none").replacing("http://", with: "http://user:pass-word@")
        let text = "\(secret)\t\(signed)\n  header=X-Api-Key: pass-word\n  header=X-Part: 1\n"
        try "old".write(toFile: work.output("failed"), atomically: false, encoding: .utf8)
        let outcome = try await work.fetch("-i", try list("l", text), "--retry", "0", "--failed", "failed", "--json")
        #expect(outcome.ending == .exited(4), "\(outcome)")
        let failed = try String(contentsOfFile: work.output("failed"), encoding: .utf8)
        for text in [failed, outcome.output, outcome.errorOutput] { #expect(!text.contains("pass-word"), "\(text)") }
        #expect(failed.contains("# without user and password, X-Api-Key: "), "\(failed)")
        #expect(failed.hasSuffix("\(origin.url("/none"))\t\(signed)\n  header=X-Part: 1\n"), "\(failed)")
        let mode = try FileManager.default.attributesOfItem(atPath: work.output("failed"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test(arguments: [
        ("<!DOCTYPE x [<!ENTITY a \"b\">]><metalink/>", "l:1: ", [String]()),
        (
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\n<file name=\"../../x\"><url>http://127.0.0.1:1/</url></file>\n</metalink>",
            "l:2: ", []
        ),
        ("http://127.0.0.1:1/a\n  out=../x\n", "l:2: ", []), ("no checksum\n", "l:1: ", ["--base-url", "http://a/"]),
        ("\(String(repeating: "0", count: 64))  x\n", "needs --base-url", []),
    ])
    func `a list that makes no sense is one error with file and line, and nothing is fetched`(
        text: String, message: String, arguments: [String]
    ) async throws {
        let name = try list("l", "\(text)")
        let good = origin.url("/1")
        let outcome = try await work.command.run(["fetch", "-d", "set", "-i", name] + arguments + [good])
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(
            outcome.errorOutput.contains(message) && outcome.errorOutput.contains("nothing was fetched"), "\(outcome)")
        #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
        #expect(origin.requests.isEmpty)
    }

    @Test func `standard input is read during the run, and an invalid line fails alone`() async throws {
        let process = try work.command.startShell(
            """
            { echo '\(origin.url("/1"))'; while [ ! -s first ]; do sleep 0.05; done
              printf '%s\\n  checksum=sha-256=12\\n' '\(origin.url("/2"))'; echo '\(origin.url("/3"))'; } |
              "$IMGCACHE" fetch -i - --json --retry 0 > >(tee first)
            """)
        let outcome = await CommandRunner.outcome(of: process)
        #expect(outcome.objects.compactMap { $0["exit_code"] as? Int }.sorted() == [0, 0, 2], "\(outcome)")
        #expect(outcome.errorOutput.contains("standard input:3: "), "\(outcome)")
        #expect(origin.requests(to: "/2").isEmpty && origin.requests(to: "/3").count == 1)
    }

    // MARK: Metalink and mirrors

    private func metalink(_ seed: UInt64, pieces length: Int, urls: [String]) -> String {
        IntegrationTests.metalink(Self.bytes(seed), name: "set/x.bin", pieces: length, urls: urls)
    }

    @Test func `a damaged piece is fetched again from another mirror, and standard error names its source`()
        async throws
    {
        let seed: UInt64 = 40
        let relay = try DamagingOrigin(Self.bytes(seed), damagedAt: 700_000)
        let text = metalink(seed, pieces: 100_000, urls: [relay.url, origin.url("/40")])
        let outcome = try await work.fetch("-i", try list("l.meta4", text), "-d", "out", "--json")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect("out/set/x.bin", is: seed)
        #expect(outcome.errorOutput.contains("\(relay.url): piece 8 (bytes 700000-799999) is damaged"), "\(outcome)")
        #expect(origin.requests.map { $0.request["Range"] } == ["bytes=700000-799999"])
    }

    @Test func `a piece that a killed run began is verified when it is whole`() async throws {
        let seed: UInt64 = 40
        let gate = Gate()
        let bytes = Self.bytes(seed)
        let bad = try ScriptedOrigin { request in
            let start = request["Range"].flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
            var fields = [(name: "ETag", value: "\"d\""), (name: "Content-Length", value: "\(bytes.count - start)")]
            guard start > 0 else {
                return [
                    .head(status: 200, fields: fields), .body(Array(bytes[..<700_000])), .wait(for: gate),
                    .body(Array(bytes[700_000...])),
                ]
            }
            fields.append(("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"))
            var rest = Array(bytes[start...])
            if start == Int(blockSize) { rest[0] ^= 0xFF }
            return [.head(status: 206, fields: fields), .body(rest)]
        }
        let text = metalink(seed, pieces: 400_000, urls: [bad.url("/x"), origin.url("/40")])
        let arguments = ["fetch", "-i", try list("l.meta4", text), "-d", "out"]
        let killed = try work.command.start(arguments)
        #expect(await bad.waits { $0.first?.bodyBytesSent ?? 0 >= 700_000 })
        #expect(await work.waitForRecordedBytes(blockSize))
        killed.send(signal: SIGKILL)
        _ = await killed.end()
        gate.open()
        let outcome = try await work.command.run(arguments + ["--json"])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect("out/set/x.bin", is: seed)
        #expect(outcome.errorOutput.contains("\(bad.url("/x")): piece 1 (bytes 0-399999) is damaged"), "\(outcome)")
        #expect(outcome.errorOutput.contains("\(origin.url("/40")): sent piece 1 right"), "\(outcome)")
        #expect(origin.requests.map { $0.request["Range"] } == ["bytes=0-399999"])
        let ranges = bad.requests.dropFirst().map { $0.request["Range"] }
        #expect(ranges == ["bytes=\(blockSize)-", "bytes=400000-"])
    }

    @Test func `a mirror that dies is replaced by the next one without fetching a byte twice`() async throws {
        let seed: UInt64 = 60
        let dying = try ScriptedOrigin(sendBuffer: 16384) { request in
            Behaviour(Self.representation(seed)).with {
                $0.representation.etag = "\"other\""
                if request.number == 1 { $0.cutAfter = 1_200_000 } else { $0.status = 404 }
            }
        }
        let outcome = try await work.fetch(
            dying.url("/60"), "--mirror", origin.url("/60"), "--sha256", Self.sum(seed), "--json", "-o", "x",
            "--retry", "0")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect("x", is: seed)
        let transferred = outcome.objects.first?["bytes_transferred"] as? Int
        #expect(transferred == Self.bytes(seed).count, "\(outcome)")
    }

    // MARK: Trees and links

    @Test func `a tree has a folder for each host and a file for each URL`() async throws {
        let urls = ["/a/1", "/a/1?x=2", "/a/b/2", "/3%2F4"].map { origin.url($0) }
        let outcome = try await work.command.run(["fetch", "--tree", "mirror"] + urls)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let host = "mirror/127.0.0.1:\(origin.port)"
        #expect(outcome.lines == ["a/1", "a/1?x=2", "a/b/2", "3%2F4"].map { "\(host)/\($0)" })
        expect("\(host)/a/b/2", is: 2)
        let again = try await work.command.run(["fetch", "--tree", "mirror"] + urls)
        #expect(again.ending == .exited(0) && again.output == outcome.output, "\(again)")
        let clash = try await work.fetch("--tree", "mirror", origin.url("/a/9"), origin.url("/a/9/9"))
        #expect(clash.ending == .exited(2) && clash.errorOutput.contains("nothing was fetched"), "\(clash)")
    }

    @Test func `a tree does not leave its folder by a symbolic link`() async throws {
        let outside = work.directory.path("outside")
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
        let host = work.output("mirror/127.0.0.1:\(origin.port)")
        try FileManager.default.createDirectory(atPath: host, withIntermediateDirectories: true)
        #expect(symlink(outside, host + "/a") == 0)
        let outcome = try await work.fetch("--tree", "mirror", origin.url("/a/1"))
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
    }

    @Test func `files are copies of stored files, or links to them`() async throws {
        let copy = try await work.fetch("--link-mode", "copy", "-d", "copies", origin.url("/1"))
        #expect(copy.ending == .exited(0), "\(copy)")
        expect("copies/1", is: 1)
        for _ in 0..<2 {
            let link = try await work.fetch("--link-mode", "symlink", "-d", "links", origin.url("/1"))
            #expect(link.ending == .exited(0), "\(link)")
        }
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: work.output("links/1"))
        #expect(target.hasPrefix("/") && target.contains("/bodies/"))
        expect("links/1", is: 1)
        try await work.expectSoundStore()
    }

    @Test func `with --dedupe files of one digest are fetched and stored once`() async throws {
        let sums = ["a/7", "b/7", "c/7", "d/8"].map { "\(Self.sum($0.hasSuffix("7") ? 7 : 8))  \($0)\n" }.joined()
        let outcome = try await work.fetch(
            "-i", try list("sums", sums), "--base-url", origin.url("/"), "-d", "set", "--dedupe", "--json")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        for name in ["a/7", "b/7", "c/7"] { expect("set/\(name)", is: 7) }
        #expect(origin.requests.count == 2)
        #expect(outcome.objects.filter { $0["source"] as? String == "shared" }.count == 2)
    }

    @Test func `--dedupe uses a file stored under another URL, also in later runs and from standard input`()
        async throws
    {
        let first = try await work.fetch(origin.url("/a/7"), "--sha256", Self.sum(7), "-o", "first")
        #expect(first.ending == .exited(0), "\(first)")
        let lines = "\(origin.url("/b/7"))\n  checksum=sha-256=\(Self.sum(7))\n"
        let listed = try await work.command.shell(
            "printf '\(lines)' | \"$IMGCACHE\" fetch -i - -d set --dedupe --json")
        #expect(listed.objects.first?["source"] as? String == "shared", "\(listed)")
        expect("set/7", is: 7)
        let single = try await work.fetch(
            origin.url("/c/7"), "--sha256", Self.sum(7), "--dedupe", "-o", "single", "--json")
        #expect(single.objects.first?["source"] as? String == "shared", "\(single)")
        expect("single", is: 7)
        #expect(origin.requests.count == 1)
        #expect(bodies.count == 1)
        let other = try await work.fetch(
            origin.url("/d/7"), "--sha256", Self.sum(7), "--dedupe", "-o", "other", "--owner", "ann", "--json")
        #expect(other.objects.first?["source"] as? String == "network", "\(other)")
        try await work.expectSoundStore()
    }

    @Test func `with --dedupe a body that the response's Repr-Digest names is not stored again`() async throws {
        let sum = Self.sum(7)
        let digest = Data(stride(from: 0, to: 64, by: 2).compactMap { UInt8(sum.dropFirst($0).prefix(2), radix: 16) })
            .base64EncodedString()
        let origin = try ScriptedOrigin { _ in
            Behaviour(Self.representation(7)).with { $0.fields.append(("Repr-Digest", "sha-256=:\(digest):")) }
        }
        for name in ["a", "b"] {
            let outcome = try await work.fetch(origin.url("/\(name)"), "--dedupe", "-o", name, "--json")
            #expect(outcome.objects.first?["source"] as? String == (name == "a" ? "network" : "shared"), "\(outcome)")
            expect(name, is: 7)
        }
        #expect(bodies.count == 1)
    }

    @Test func `files that failed are tried once more at the end, unless nothing has arrived`() async throws {
        let origin = try ScriptedOrigin { request in
            guard let seed = UInt64(request.path.dropFirst()) else { return .status(404) }
            return seed == 1 && request.number <= 3 ? .status(503) : Behaviour(Self.representation(seed))
        }
        let urls = [2, 1, 3, 4].map { origin.url("/\($0)") }
        let outcome = try await work.command.run(
            ["fetch", "-d", "set", "-j", "1", "--retry", "1", "-i", try list("l", urls.joined(separator: "\n"))])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        for seed in 1...4 { expect("set/\(seed)", is: UInt64(seed)) }
        let down = try ScriptedOrigin { _ in .status(503) }
        let failed = try await work.fetch(down.url("/1"), down.url("/2"), "-d", "none", "--retry", "1")
        #expect(failed.ending == .exited(4) && down.requests.count == 4, "\(failed)")
    }

    @Test func `--require-digest refuses a file without a digest`() async throws {
        let outcome = try await work.fetch("--require-digest", origin.url("/1"))
        #expect(outcome.ending == .exited(5) && outcome.errorOutput.contains("no digest"), "\(outcome)")
        let known = try await work.fetch("--require-digest", "--sha256", Self.sum(1), origin.url("/1"))
        #expect(known.ending == .exited(0), "\(known)")
        #expect(origin.requests.first?.request["Want-Repr-Digest"] == "sha-256=10, sha-512=5")
    }

    // MARK: Kills

    @Test func `a set that is killed at random moments arrives whole from a flaky origin`() async throws {
        isFlaky.withLock { $0 = true }
        var generator = SeededGenerator(for: "kills of a set")
        let count: UInt64 = 40
        let sums = (1...count).map { "\(Self.sum($0))  \($0 % 4)/\($0).bin\n" }.joined()
        let arguments = [
            "fetch", "-q", "-i", try list("SHA256SUMS", sums), "--base-url", origin.url("/"), "-d", "set", "--retry",
            "20",
            "--failed", "failed",
        ]
        for _ in 0..<6 {
            let process = try work.command.start(arguments)
            try await Task.sleep(for: .milliseconds(Int.random(in: 30...900, using: &generator)))
            process.send(signal: SIGKILL)
            _ = await CommandRunner.outcome(of: process)
        }
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        for seed in 1...count { expect("set/\(seed % 4)/\(seed).bin", is: seed) }
        #expect(try String(contentsOfFile: work.output("failed"), encoding: .utf8).isEmpty)
        try await work.expectSoundStore()
    }
}

/// An origin that serves bytes of which one is wrong.
private struct DamagingOrigin {
    let origin: ScriptedOrigin
    var url: String { origin.url("/x") }

    init(_ bytes: [UInt8], damagedAt offset: Int) throws {
        var damaged = bytes
        damaged[offset] ^= 0xFF
        origin = try ScriptedOrigin { [damaged] request in
            let start = request["Range"].flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
            var fields = [(name: "ETag", value: "\"d\""), (name: "Content-Length", value: "\(damaged.count - start)")]
            if start > 0 {
                fields.append(("Content-Range", "bytes \(start)-\(damaged.count - 1)/\(damaged.count)"))
            }
            return [.head(status: start > 0 ? 206 : 200, fields: fields), .body(Array(damaged[start...]))]
        }
    }
}
