import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

/// Downloads from servers that give no strong validator. A SHA-2 of the whole, known before, proves what was joined.
@Suite(.fewAtATime) struct ResumeByDigestTests {
    static let size: Int64 = 3_000_000
    static let cut: Int64 = 1_500_000
    static let plain = Representation(seed: 71, size: size, etag: "")

    struct Server: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var behaviour = Behaviour(plain)

        init(_ description: String, _ change: (inout Behaviour) -> Void = { _ in }) {
            testDescription = description
            change(&behaviour)
        }
    }

    static let servers = [
        Server("neither ETag nor date"),
        Server("a weak ETag") { $0.representation.etag = "W/\"weak\"" },
        Server("a date in the second of the response") { $0.representation.lastModified = $0.date },
        Server("chunked, without a length") { $0.framing = .chunked },
    ]

    private func digest(_ representation: Representation) -> String { representation.content.sha256 }

    @Test(arguments: servers)
    func `a cut download with a digest is resumed by a plain range`(server: Server) async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            server.behaviour.with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        let sha256 = digest(server.behaviour.representation)
        #expect(try await work.fetch("--retry", "0", "--sha256", sha256, origin.url()).ending == .exited(3))
        let (outcome, answer) = try await work.fetchJSON("--sha256", sha256, origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(server.behaviour.representation.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.resumedFrom == Self.cut)
        #expect(answer.bytesTransferred == Self.size - Self.cut)
        #expect(origin.requests.count == 2)
        #expect(origin.requests.last?["Range"] == "bytes=\(Self.cut)-")
        #expect(origin.requests.last?["If-Range"] == nil)
        try await work.expectSoundStore()
    }

    @Test func `a server that cuts each response is read to the end in one run, each byte once`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in Behaviour(Self.plain).with { $0.cutAfter = 700_000 } }
        let (outcome, answer) = try await work.fetchJSON(
            "--segments", "1", "--sha256", digest(Self.plain), origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.plain.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.bytesTransferred == Self.size)
    }

    @Test func `after a kill the blocks that were recorded are not fetched again`() async throws {
        let work = try TestWorkspace()
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.plain).with { if request.number == 1 { $0.bodyGate = (4 * blockSize, gate) } }
        }
        let sha256 = digest(Self.plain)
        let running = try work.command.start(["fetch", "--sha256", sha256, origin.url()])
        #expect(await work.waitForRecordedBytes(4 * blockSize))
        running.send(signal: SIGKILL)
        _ = await CommandRunner.outcome(of: running)
        gate.open()
        let (outcome, answer) = try await work.fetchJSON("--sha256", sha256, origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.plain.content.equalsFile(at: answer.path ?? ""))
        #expect(answer.resumedFrom == 4 * blockSize)
        try await work.expectSoundStore()
    }

    @Test func `a version that changed is found by the digest, and fetched once from its start`() async throws {
        let work = try TestWorkspace()
        let other = Representation(seed: 72, size: Self.size, etag: "")
        let origin = try ScriptedOrigin { request in
            request.number == 1 ? Behaviour(Self.plain).with { $0.cutAfter = Self.cut } : Behaviour(other)
        }
        let sha256 = digest(other)
        _ = try await work.fetch("--retry", "0", "--sha256", sha256, origin.url())
        let (outcome, answer) = try await work.fetchJSON("--segments", "1", "--sha256", sha256, origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(other.content.equalsFile(at: answer.path ?? ""))
        #expect(origin.requests.map { $0["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
        #expect(answer.bytesTransferred == Self.size - Self.cut + Self.size)
        try await work.expectSoundStore()
    }

    @Test func `a digest that no version has ends after one more download, and nothing is kept`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.plain).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        let sha256 = String(repeating: "0", count: 64)
        _ = try await work.fetch("--retry", "0", "--sha256", sha256, origin.url())
        #expect(try await work.fetch("--segments", "1", "--sha256", sha256, origin.url()).ending == .exited(5))
        #expect(origin.requests.map { $0["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
        #expect(work.recordedBytes(in: work.cache) == 0)
        #expect(try await work.run("ls").lines.isEmpty)
    }

    @Test func `a later request without the digest starts over`() async throws {
        let work = try TestWorkspace()
        let strong = Representation(seed: 71, size: Self.size)
        let origin = try ScriptedOrigin { request in
            switch request.number {
            case 1: Behaviour(Self.plain).with { $0.cutAfter = Self.cut }
            // The validator that appears now says nothing about the first bytes.
            case 2: Behaviour(strong).with { $0.cutAfter = 300_000 }
            default: Behaviour(strong)
            }
        }
        let sha256 = digest(Self.plain)
        for _ in 1...2 { _ = try await work.fetch("--retry", "0", "--segments", "1", "--sha256", sha256, origin.url()) }
        let answer = try await work.fetchJSON(origin.url()).answer
        #expect(strong.content.equalsFile(at: answer.path ?? ""))
        #expect(origin.requests.map { $0["Range"] } == [nil, "bytes=\(Self.cut)-", nil])
        #expect(answer.resumedFrom == 0)
    }

    @Test func `no range is answered from bytes that only the digest proves`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.plain).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        _ = try await work.fetch("--retry", "0", "--sha256", digest(Self.plain), origin.url())
        let outcome = try await work.run("cat", "-r", "0-9", origin.url())
        #expect(outcome.outputBytes == Self.plain.content.bytes(0..<10), "\(outcome)")
        #expect(origin.requests.count > 1)
    }

    @Test func `a Metalink's digest and size also allow a download to resume`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { request in
            Behaviour(Self.plain).with { if request.number == 1 { $0.cutAfter = Self.cut } }
        }
        let list = work.output("set.meta4")
        try """
        <?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a.bin"><size>\(Self.size)</size>
        <hash type="sha-256">\(digest(Self.plain))</hash><url>\(origin.url("/a.bin"))</url></file></metalink>
        """.write(toFile: list, atomically: true, encoding: .utf8)
        _ = try await work.fetch("--retry", "0", "-d", work.output("set"), "-i", list)
        let outcome = try await work.fetch("--segments", "1", "-d", work.output("set"), "-i", list)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(Self.plain.content.equalsFile(at: work.output("set/a.bin")))
        #expect(origin.requests.map { $0["Range"] }.last == "bytes=\(Self.cut)-")
    }

    @Test func `a file that was joined keeps no validator of the responses that continued it`() async throws {
        let work = try TestWorkspace()
        let strong = Representation(seed: 71, size: Self.size)
        let origin = try ScriptedOrigin { request in
            request.number == 1 ? Behaviour(Self.plain).with { $0.cutAfter = Self.cut } : Behaviour(strong)
        }
        let sha256 = digest(Self.plain)
        _ = try await work.fetch("--retry", "0", "--sha256", sha256, origin.url())
        let answer = try await work.fetchJSON("--segments", "1", "--sha256", sha256, origin.url()).answer
        #expect(answer.resumedFrom == Self.cut)
        #expect(answer.etag == nil)
        _ = try await work.fetchJSON("--revalidate", origin.url())
        #expect(origin.requests.last?["If-None-Match"] == nil)
    }

    @Test func `without a digest, the error says why the download cannot be resumed`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { _ in Behaviour(Self.plain).with { $0.cutAfter = Self.cut } }
        let outcome = try await work.fetch("--retry", "1", origin.url())
        #expect(outcome.ending == .exited(3))
        #expect(outcome.errorOutput.contains("neither a strong ETag nor a date"), "\(outcome)")
        #expect(outcome.errorOutput.contains("SHA-256"), "\(outcome)")
        #expect(origin.requests.allSatisfy { $0["Range"] == nil })
    }

    // MARK: Files of other programs

    enum Left: String, CaseIterable, CustomTestStringConvertible {
        case beginning = "the beginning"
        case oneByte = "one byte"
        case whole = "the whole file"
        case other = "other bytes"
        case tooLong = "more than the whole"

        var testDescription: String { rawValue }
    }

    private func leave(_ left: Left, of representation: Representation, at path: String) throws {
        let content = representation.content
        let bytes: Data =
            switch left {
            case .beginning: Data(content.bytes(0..<Self.cut))
            case .oneByte: Data(content.bytes(0..<1))
            case .whole: Data(content.bytes(0..<Self.size))
            case .other: Data(repeating: 7, count: Int(Self.cut))
            case .tooLong: Data(content.bytes(0..<Self.size)) + Data(repeating: 7, count: 1000)
            }
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    private func expectedRequests(_ left: Left) -> [String?] {
        switch left {
        case .beginning: ["bytes=\(Self.cut)-"]
        case .oneByte: ["bytes=1-"]
        case .whole: ["bytes=\(Self.size)-"]
        case .other: ["bytes=\(Self.cut)-", nil]
        case .tooLong: ["bytes=\(Self.size + 1000)-", nil]
        }
    }

    @Test(arguments: Left.allCases)
    func `--adopt resumes a file that another program left at -o`(left: Left) async throws {
        let work = try TestWorkspace()
        let strong = Representation(seed: 71, size: Self.size)
        let origin = try ScriptedOrigin(serving: strong)
        let path = work.output("file.bin")
        try leave(left, of: strong, at: path)
        let outcome = try await work.fetch(
            "--adopt", "--segments", "1", "--sha256", digest(strong), "-o", path, origin.url())
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(strong.content.equalsFile(at: path))
        #expect(origin.requests.map { $0["Range"] } == expectedRequests(left))
        try await work.expectSoundStore()
    }

    @Test func `--adopt resumes files in a folder by the digests of a list`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin { Behaviour(Representation(seed: $0.path == "/a" ? 71 : 72, size: Self.size)) }
        let folder = work.output("set")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let (a, b) = (Representation(seed: 71, size: Self.size), Representation(seed: 72, size: Self.size))
        try leave(.beginning, of: a, at: "\(folder)/a")
        let list = work.output("SHA256SUMS")
        try "\(digest(a))  a\n\(digest(b))  b\n".write(toFile: list, atomically: true, encoding: .utf8)
        let outcome = try await work.fetch(
            "--adopt", "--segments", "1", "-d", folder, "-i", list, "--base-url", origin.url("/"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(a.content.equalsFile(at: "\(folder)/a"))
        #expect(b.content.equalsFile(at: "\(folder)/b"))
        #expect(origin.requests.filter { $0.request.path == "/a" }.map { $0["Range"] } == ["bytes=\(Self.cut)-"])
        #expect(origin.requests.filter { $0.request.path == "/b" }.map { $0["Range"] } == [nil])
    }

    @Test func `without a digest nothing is adopted, and the file stays as it is`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin(serving: Self.plain)
        let path = work.output("file.bin")
        try leave(.beginning, of: Self.plain, at: path)
        let outcome = try await work.fetch("--adopt", "-o", path, origin.url())
        #expect(outcome.ending == .exited(2), "\(outcome)")
        #expect(outcome.errorOutput.contains("--sha256"), "\(outcome)")
        #expect(FileManager.default.contents(atPath: path)?.count == Int(Self.cut))
        #expect(try await work.fetch("--adopt", "--sha256", digest(Self.plain), origin.url()).ending == .exited(2))
        #expect(origin.requests.isEmpty)
    }

    @Test func `--adopt with a wrong digest leaves the other program's file unchanged`() async throws {
        let work = try TestWorkspace()
        let origin = try ScriptedOrigin(serving: Self.plain)
        let path = work.output("file.bin")
        try leave(.beginning, of: Self.plain, at: path)
        let sha256 = String(repeating: "0", count: 64)
        let outcome = try await work.fetch("--adopt", "--segments", "1", "--sha256", sha256, "-o", path, origin.url())
        #expect(outcome.ending == .exited(5), "\(outcome)")
        #expect(FileManager.default.contents(atPath: path)?.count == Int(Self.cut))
    }

    // MARK: Pieces of older versions

    /// A representation of which some bytes differ from another one's.
    private static func changed(at offsets: [Int]) -> [UInt8] {
        var bytes = plain.content.bytes()
        for offset in offsets { bytes[offset] ^= 0xFF }
        return bytes
    }

    private func metalink(_ bytes: [UInt8], pieces length: Int, _ url: String) -> String {
        IntegrationTests.metalink(bytes, name: "a.bin", pieces: length, urls: [url])
    }

    /// The response of an origin that has these bytes, and ranges of them.
    private static func response(to request: ReceivedRequest, of bytes: [UInt8]) -> [OriginStep] {
        let fields = [(name: "ETag", value: "\"\(SHA256.hex(of: bytes))\"")]
        let asked = request["Range"].map { $0.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) } }
        guard let asked, let start = asked.first else {
            return [
                .head(status: 200, fields: fields + [(name: "Content-Length", value: "\(bytes.count)")]), .body(bytes),
            ]
        }
        let end = asked.count > 1 ? asked[1] + 1 : bytes.count
        let range = "bytes \(start)-\(end - 1)/\(bytes.count)"
        let more = [(name: "Content-Length", value: "\(end - start)"), (name: "Content-Range", value: range)]
        return [.head(status: 206, fields: fields + more), .body(Array(bytes[start..<end]))]
    }

    private func origin(of bytes: [UInt8]) throws -> ScriptedOrigin {
        try ScriptedOrigin { Self.response(to: $0, of: bytes) }
    }

    @Test(arguments: [(524_288, 1), (262_144, 1), (100_000, 2), (3_000_000, 12)])
    func `only the pieces of a new version that changed are fetched`(length: Int, blocks: Int64) async throws {
        let work = try TestWorkspace()
        let new = Self.changed(at: [1_000_000])
        let origin = try origin(of: new)
        let folder = work.output("set")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(Self.plain.content.bytes()).write(to: URL(fileURLWithPath: "\(folder)/a.bin"))
        let list = work.output("new.meta4")
        try metalink(new, pieces: length, origin.url("/a")).write(toFile: list, atomically: true, encoding: .utf8)
        let outcome = try await work.fetch("--force", "-d", folder, "-i", list)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(FileManager.default.contents(atPath: "\(folder)/a.bin") == Data(new))
        let sent = origin.requests.reduce(0) { $0 + $1.bodyBytesSent }
        #expect(sent <= max(blocks * blockSize, Int64(length)), "\(origin.requests.map { $0["Range"] })")
        try await work.expectSoundStore()
    }

    @Test func `a partial that ends within a block is completed with the pieces of an older file`() async throws {
        let work = try TestWorkspace()
        let new = Self.changed(at: [2_500_000])
        let origin = try ScriptedOrigin { request in
            if request["Range"] != nil { return Self.response(to: request, of: new) }
            // Without a validator, and cut.
            let fields = [(name: "Content-Length", value: "\(new.count)")]
            return [.head(status: 200, fields: fields), .body(Array(new[..<1_500_123])), .cut(reset: false)]
        }
        let list = work.output("new.meta4")
        try metalink(new, pieces: 262_144, origin.url("/a")).write(toFile: list, atomically: true, encoding: .utf8)
        #expect(try await work.fetch("--retry", "0", "-d", work.output("set"), "-i", list).ending == .exited(3))
        try FileManager.default.createDirectory(atPath: work.output("set"), withIntermediateDirectories: true)
        try Data(Self.plain.content.bytes()).write(to: URL(fileURLWithPath: work.output("set/a.bin")))
        let outcome = try await work.fetch("--force", "-d", work.output("set"), "-i", list)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(FileManager.default.contents(atPath: work.output("set/a.bin")) == Data(new))
        #expect(origin.requests.dropFirst().reduce(0) { $0 + $1.bodyBytesSent } <= blockSize)
    }

    @Test(arguments: [true, false])
    func `the stored version gives its pieces too, and the folder is brought up to date`(keepsFile: Bool) async throws {
        let work = try TestWorkspace()
        let (old, new) = (Self.plain.content.bytes(), Self.changed(at: [10, 2_000_000]))
        let served = Locked(old)
        let origin = try ScriptedOrigin { request in Self.response(to: request, of: served.withLock { $0 }) }
        let list = work.output("set.meta4")
        for bytes in [old, new] {
            served.withLock { $0 = bytes }
            try metalink(bytes, pieces: 262_144, origin.url("/a")).write(
                toFile: list, atomically: true, encoding: .utf8)
            let outcome = try await work.fetch("-d", work.output("set"), "-i", list)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(FileManager.default.contents(atPath: work.output("set/a.bin")) == Data(bytes))
            if !keepsFile { try FileManager.default.removeItem(atPath: work.output("set/a.bin")) }
        }
        #expect(origin.requests.count == 3)
        #expect(origin.requests.dropFirst().reduce(0) { $0 + $1.bodyBytesSent } == 2 * blockSize)
        try await work.expectSoundStore()
    }

    @Test func `a file without a right piece is not used as a seed`() async throws {
        let work = try TestWorkspace()
        let bytes = Self.plain.content.bytes()
        let origin = try origin(of: bytes)
        let path = work.output("a.bin")
        try Data(repeating: 7, count: bytes.count).write(to: URL(fileURLWithPath: path))
        let list = work.output("new.meta4")
        try metalink(bytes, pieces: 262_144, origin.url("/a")).write(toFile: list, atomically: true, encoding: .utf8)
        let outcome = try await work.fetch("--force", "-d", work.output(""), "-i", list)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(FileManager.default.contents(atPath: path) == Data(bytes))
        #expect(origin.requests.map { $0["Range"] } == [nil])
    }
}
