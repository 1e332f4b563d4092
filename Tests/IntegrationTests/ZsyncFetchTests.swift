import Foundation
import TestSupport
import Testing

/// Downloads of new versions by control files of zsync, from nginx, which answers ranges as servers of large files do.
@Suite(.fewAtATime) struct ZsyncFetchTests {
    private let work: TestWorkspace
    private let nginx: Nginx

    init() async throws {
        work = try TestWorkspace()
        nginx = try await Nginx()
    }

    private static func bytes(_ seed: UInt64, _ count: Int64 = 6_000_000) -> [UInt8] {
        // Without a pattern: no two blocks are equal.
        var random = SeededGenerator(seed: seed)
        var bytes = [UInt8](repeating: 0, count: Int(count))
        for start in stride(from: 0, to: bytes.count, by: 8) {
            withUnsafeBytes(of: random.next()) { word in
                for place in start..<min(start + 8, bytes.count) { bytes[place] = word[place - start] }
            }
        }
        return bytes
    }

    /// A new version: a byte inserted in front, and some bytes changed.
    private static func changed(_ old: [UInt8]) -> [UInt8] {
        var new = [7] + old
        for place in [1_000_000, 1_000_900, 3_500_000] { new[place] ^= 0xFF }
        return new
    }

    private func publish(_ bytes: [UInt8], _ name: String = "image.bin") async throws {
        let path = "\(nginx.root)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let made = try await work.run("zsync", "--force", path)
        #expect(made.ending == .exited(0), "\(made)")
    }

    private func write(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: work.output(name)))
        return work.output(name)
    }

    private func expect(_ path: String, _ bytes: [UInt8], _ sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(FileManager.default.contents(atPath: path) == Data(bytes), sourceLocation: sourceLocation)
    }

    @Test(arguments: ["the stored version", "the file at the target", "--seed"])
    func `only the blocks that changed are fetched, wherever the old version is`(place: String) async throws {
        let old = Self.bytes(1)
        let new = Self.changed(old)
        let target = work.output("image.bin")
        var arguments = ["fetch", "--json", "--zsync", "auto", "-o", target, nginx.url("/image.bin")]
        switch place {
        case "--seed": arguments += ["--seed", try write(old, "older.bin")]
        case "the file at the target": _ = try write(old, "image.bin")
        default:
            try await publish(old)
            #expect(try await work.fetch(nginx.url("/image.bin")).ending == .exited(0))
        }
        try await publish(new)
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect(target, new)
        #expect(try FetchReport(outcome).bytesTransferred < 40_000, "\(outcome)")
        try await work.expectSoundStore()
        // Again: the stored file has all blocks, and one byte proves its length.
        let again = try await work.command.run(arguments)
        #expect(try FetchReport(again).bytesTransferred <= 1, "\(again)")
        expect(target, new)
    }

    @Test func `a file that is the same under another name costs one byte`() async throws {
        let bytes = Self.bytes(2)
        try await publish(bytes)
        let seed = try write(bytes, "same.bin")
        let outcome = try await work.fetch("--json", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try FetchReport(outcome).bytesTransferred <= 1)
        expect(try FetchReport(outcome).path ?? "", bytes)
    }

    @Test(arguments: [Int64(1), 2047, 2048, 100_000, 262_144, 262_145, 1_000_003])
    func `a file of any length is made from its seed without an error`(length: Int64) async throws {
        var new = Self.bytes(3, 1_048_576)
        new = Array(new[..<Int(length)])
        var old = new
        old[old.count / 2] ^= 1
        try await publish(new)
        let seed = try write(old, "older.bin")
        let outcome = try await work.fetch("--json", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect(try FetchReport(outcome).path ?? "", new)
    }

    @Test func `without a control file, or with one of another version, auto fetches the whole`() async throws {
        let (old, new) = (Self.bytes(1), Self.bytes(4))
        let seed = try write(old, "older.bin")
        try Data(new).write(to: URL(fileURLWithPath: "\(nginx.root)/image.bin"))
        let without = try await work.fetch("--json", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(without.ending == .exited(0), "\(without)")
        try Data("zsync: none".utf8).write(to: URL(fileURLWithPath: "\(nginx.root)/image.bin.zsync"))
        let broken = try await work.fetch(
            "--json", "--refresh", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(broken.ending == .exited(0), "\(broken)")
        expect(try FetchReport(broken).path ?? "", new)
        let named = try await work.fetch("--zsync", nginx.url("/image.bin.zsync"), nginx.url("/image.bin"))
        #expect(named.ending == .exited(5), "\(named)")
    }

    @Test func `a missing control file is looked for once a day, and again on --refresh`() async throws {
        let body = Self.bytes(7, 300_000)
        let origin = try ScriptedOrigin { request in
            guard request.target == "/image.bin" else {
                return [.head(status: 404, fields: [("Content-Length", "0")])]
            }
            let head = OriginStep.head(
                status: 200,
                fields: [("Content-Length", "\(body.count)"), ("ETag", "\"1\""), ("Cache-Control", "no-cache")])
            return request.method == "HEAD" ? [head] : [head, .body(body)]
        }
        func controls() -> Int { origin.requests.count { $0.request.target == "/image.bin.zsync" } }
        for expected in [1, 1] {
            let outcome = try await work.fetch("--zsync", "auto", origin.url("/image.bin"))
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(controls() == expected)
        }
        let outcome = try await work.fetch("--refresh", "--zsync", "auto", origin.url("/image.bin"))
        #expect(outcome.ending == .exited(0) && controls() == 2, "\(outcome)")
    }

    @Test func `a control file that lies costs bytes, and never a wrong file`() async throws {
        let (old, new) = (Self.bytes(1), Self.changed(Self.bytes(1)))
        try await publish(new)
        // The checksums of the old version under the SHA-1 of the new one.
        let made = try await work.run(
            "zsync", "-o", work.output("old.zsync"), try write([8] + old, "old.bin"))
        #expect(made.ending == .exited(0), "\(made)")
        let control = "\(nginx.root)/image.bin.zsync"
        let right = try #require(FileManager.default.contents(atPath: control))
        let lie = try #require(FileManager.default.contents(atPath: work.output("old.zsync")))
        let sha1 = try #require(Self.sha1(right))
        try Data(lie).replacingSHA1(by: sha1).write(to: URL(fileURLWithPath: control))
        let outcome = try await work.fetch(
            "--json", "--zsync", "auto", "--seed", work.output("old.bin"), nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect(try FetchReport(outcome).path ?? "", new)
    }

    @Test func `an automatic control file of an older version does not keep the newer one away`() async throws {
        let (old, new) = (Self.bytes(1), Self.changed(Self.bytes(1)))
        try await publish(old)
        try Data(new).write(to: URL(fileURLWithPath: "\(nginx.root)/image.bin"))
        let seed = try write(old.dropLast(1000), "older.bin")
        let outcome = try await work.fetch("--json", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect(try FetchReport(outcome).path ?? "", new)
        let named = try await work.fetch(
            "--refresh", "--zsync", nginx.url("/image.bin.zsync"), "--seed", seed, nginx.url("/image.bin"))
        #expect(named.ending == .exited(5), "\(named)")
    }

    @Test func `a control file that is older than the file is not used unless it is named, and poisons nothing`()
        async throws
    {
        let old = Self.bytes(1)
        var new = old
        new[3_000_000] ^= 0xFF
        try await publish(old)
        let control = "\(nginx.root)/image.bin.zsync"
        try FileManager.default.setAttributes([.modificationDate: Date() - 100], ofItemAtPath: control)
        try Data(new).write(to: URL(fileURLWithPath: "\(nginx.root)/image.bin"))
        let seed = try write(old, "older.bin")
        let found = try await work.fetch("--json", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(found.ending == .exited(0), "\(found)")
        expect(try FetchReport(found).path ?? "", new)
        // Named, it is what the user wants, and answers nobody else.
        let named = try await work.fetch(
            "--json", "--refresh", "--zsync", nginx.url("/image.bin.zsync"), "--seed", seed, nginx.url("/image.bin"))
        #expect(named.ending == .exited(0), "\(named)")
        expect(try FetchReport(named).path ?? "", old)
        expect(try await work.fetchJSON(nginx.url("/image.bin")).answer.path ?? "", new)
    }

    @Test func `credentials do not go to another server with the control file`() async throws {
        let bytes = Self.bytes(6, 300_000)
        try await publish(bytes)
        let control = try #require(FileManager.default.contents(atPath: "\(nginx.root)/image.bin.zsync"))
        let other = try ScriptedOrigin { _ in
            [.head(status: 200, fields: [("Content-Length", "\(control.count)")]), .body(Array(control))]
        }
        let outcome = try await work.fetch(
            "-H", "Authorization: Bearer secret", "-H", "Cookie: c=1", "--zsync", other.url("/image.bin.zsync"),
            "--seed",
            try write(bytes, "same.bin"), nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let request = try #require(other.requests.first)
        #expect(request["Authorization"] == nil && request["Cookie"] == nil)
    }

    @Test(arguments: ["-", "/dev/stdout"])
    func `zsync -o with standard output writes the control file there, and nothing else`(name: String) async throws {
        let file = try write(Self.bytes(7, 300_000), "file.bin")
        let made = try await work.run("zsync", "-o", name, file)
        #expect(made.ending == .exited(0) && made.errorOutput.isEmpty, "\(made)")
        #expect(work.outputNames == ["file.bin"])
        #expect(try await work.run("zsync", file).ending == .exited(0))
        expect(work.output("file.bin.zsync"), made.outputBytes)
    }

    @Test func `an unreadable seed is reported`() async throws {
        try await publish(Self.bytes(6, 300_000))
        let outcome = try await work.fetch("--zsync", "auto", "--seed", work.output("none"), nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(2) && outcome.errorOutput.contains("none"), "\(outcome)")
    }

    private static func sha1(_ control: Data) -> String? {
        String(decoding: control.prefix(1000), as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("SHA-1: ") }
            .map { String($0.dropFirst(7)) }
    }

    @Test func `a zsync download that is killed at any moment is completed by the same command`() async throws {
        let (old, new) = (Self.bytes(1), Self.changed(Self.bytes(1)))
        try await publish(new)
        let arguments = [
            "fetch", "--limit-rate", "20k", "--zsync", "auto", "--seed", try write(old, "older.bin"), "-o",
            work.output("image.bin"), nginx.url("/image.bin"),
        ]
        var random = SeededGenerator(for: "zsync kills")
        for _ in 0..<6 {
            let running = try work.command.start(arguments)
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...900, using: &random)))
            running.send(signal: SIGKILL)
            _ = await running.end()
        }
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        expect(work.output("image.bin"), new)
        try await work.expectSoundStore()
    }

    @Test func `a partial of seeds is not continued without the control file`() async throws {
        let (old, new) = (Self.bytes(1), Self.changed(Self.bytes(1)))
        try await publish(new)
        let seed = try write(old, "older.bin")
        let running = try work.command.start([
            "fetch", "--limit-rate", "2k", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"),
        ])
        #expect(await work.waitForRecordedBytes(blockSize))
        running.send(signal: SIGKILL)
        _ = await running.end()
        let answer = try await work.fetchJSON(nginx.url("/image.bin")).answer
        #expect(answer.resumedFrom == 0 && answer.bytesTransferred == Int64(new.count))
        expect(answer.path ?? "", new)
    }

    @Test func `zsync reads the control files of imgcache, and imgcache those of zsyncmake`() async throws {
        let tools = ["/usr/bin/zsync", "/usr/bin/zsyncmake"]
        guard tools.allSatisfy({ FileManager.default.isExecutableFile(atPath: $0) }) else { return }
        let (old, new) = (Self.bytes(1), Self.changed(Self.bytes(1)))
        let seed = try write(old, "older.bin")
        try await publish(new)
        let theirs = try await work.command.startShell(
            "cd \(work.output("")) && zsync -q -i \(seed) -o theirs.bin \(nginx.url("/image.bin.zsync"))"
        ).end()
        #expect(theirs == .exited(0))
        expect(work.output("theirs.bin"), new)
        let made = try await work.command.startShell(
            "cd \(nginx.root) && zsyncmake -u image.bin -o image.bin.zsync image.bin"
        ).end()
        #expect(made == .exited(0))
        let outcome = try await work.fetch(
            "--json", "--zsync", "auto", "--seed", seed, nginx.url("/image.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try FetchReport(outcome).bytesTransferred < 40_000, "\(outcome)")
        expect(try FetchReport(outcome).path ?? "", new)
    }
}

extension Data {
    fileprivate func replacingSHA1(by sha1: String) -> Data {
        guard let start = range(of: Data("SHA-1: ".utf8))?.upperBound else { return self }
        var changed = self
        changed.replaceSubrange(start..<start + 40, with: Data(sha1.utf8))
        return changed
    }
}
