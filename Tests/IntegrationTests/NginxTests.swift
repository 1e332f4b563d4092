import Foundation
import Glibc
import TestSupport
import Testing

/// Downloads killed and resumed with a real server.
@Suite(
    .fewAtATime,
    .enabled(if: Nginx.unavailableReason == nil, "\(Nginx.unavailableReason ?? "")"))
struct NginxTests {
    private let work: TestWorkspace
    private let content = Content(seed: 81, size: 4_000_000)

    init() throws {
        work = try TestWorkspace()
    }

    /// Starts a fetch, kills it when about half of the file is there, and returns the bytes that nginx sent for it.
    private func fetchHalf(from nginx: Nginx) async throws -> Int64 {
        // The rest would take an hour: the kill comes before its end, however late it is.
        let slow = "\(nginx.root)/slow"
        try Data().write(to: URL(filePath: slow))
        let process = try work.command.start(["fetch"] + nginx.trust + [nginx.url("/file.bin")])
        #expect(await work.waitForRecordedBytes(content.size / 2), "\(process.errorOutput)")
        process.send(signal: SIGKILL)
        #expect(await process.end() == .signaled(SIGKILL), "\(process.errorOutput)")
        try FileManager.default.removeItem(atPath: slow)
        return try await nginx.requests(atLeast: 1).first?.bodyBytesSent ?? 0
    }

    private func nginx(
        over wire: Wire = .plain, _ change: (inout Nginx.Options) -> Void = { _ in }
    ) async throws -> Nginx {
        var options = Nginx.Options()
        options.directives = "limit_rate_after 2500k; if (-f $document_root/slow) { set $limit_rate 500; }\n"
        try await wire.apply(to: &options)
        change(&options)
        let nginx = try await Nginx(options)
        try nginx.serve(content, as: "file.bin")
        return nginx
    }

    /// Puts the file's modification date back, so that Last-Modified counts as strong.
    private func age(_ nginx: Nginx) {
        var times = [timeval(tv_sec: 1_700_000_000, tv_usec: 0), timeval(tv_sec: 1_700_000_000, tv_usec: 0)]
        _ = utimes("\(nginx.root)/file.bin", &times)
    }

    @Test(arguments: Wire.allCases)
    func `a file from nginx with a strong ETag is resumed with Range and If-Range`(wire: Wire) async throws {
        let nginx = try await nginx(over: wire)
        let before = try await fetchHalf(from: nginx)
        let (outcome, answer) = try await work.fetchJSON(nginx.trust + [nginx.url("/file.bin")])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(SHA256.hex(ofFile: answer.path ?? "") == content.sha256)
        #expect(answer.resumedFrom >= content.size / 2 - blockSize)
        let request = try #require(try await nginx.requests(atLeast: 2).last)
        #expect(request.status == 206)
        #expect(request.version == wire.version)
        #expect(request.ifRange == answer.etag)
        #expect(request.bodyBytesSent == content.size - answer.resumedFrom)
        // The sockets' buffers, and over HTTP/2 what libcurl had not yet taken from the stream: more, the busier the machine is.
        let unread: Int64 = wire == .http2 ? 1 << 20 : 256 << 10
        #expect(before + request.bodyBytesSent <= content.size + blockSize + unread)
    }

    @Test(arguments: Wire.allCases)
    func `a file that nginx replaces between two attempts is fetched as a whole`(wire: Wire) async throws {
        let nginx = try await nginx(over: wire)
        _ = try await fetchHalf(from: nginx)
        let replacement = Content(seed: 82, size: content.size)
        try nginx.serve(replacement, as: "file.bin")
        age(nginx)
        let (outcome, answer) = try await work.fetchJSON(nginx.trust + [nginx.url("/file.bin")])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(SHA256.hex(ofFile: answer.path ?? "") == replacement.sha256)
        #expect(answer.resumedFrom == 0)
        #expect(try await nginx.requests(atLeast: 2).last?.status == 200)
    }

    @Test(arguments: Wire.allCases)
    func `a file from nginx with max_ranges 0 is fetched again as a whole`(wire: Wire) async throws {
        let nginx = try await nginx(over: wire) { $0.ignoresRanges = true }
        _ = try await fetchHalf(from: nginx)
        let (outcome, answer) = try await work.fetchJSON(nginx.trust + [nginx.url("/file.bin")])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(SHA256.hex(ofFile: answer.path ?? "") == content.sha256)
        #expect(answer.resumedFrom == 0)
        #expect(answer.bytesTransferred == content.size)
    }

    @Test func `a file from nginx with gzip on is requested as identity and resumed`() async throws {
        let nginx = try await nginx { $0.compresses = true }
        _ = try await fetchHalf(from: nginx)
        let (outcome, answer) = try await work.fetchJSON(nginx.url("/file.bin"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(SHA256.hex(ofFile: answer.path ?? "") == content.sha256)
        #expect(answer.resumedFrom > 0)
        #expect(try await nginx.requests(atLeast: 2).last?.status == 206)
    }

    @Test(arguments: Wire.allCases)
    func `a file from nginx without an ETag is resumed by its Last-Modified date`(wire: Wire) async throws {
        let nginx = try await nginx(over: wire) { $0.omitsETag = true }
        age(nginx)
        _ = try await fetchHalf(from: nginx)
        let (outcome, answer) = try await work.fetchJSON(nginx.trust + [nginx.url("/file.bin")])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(SHA256.hex(ofFile: answer.path ?? "") == content.sha256)
        #expect(answer.resumedFrom > 0)
        #expect(try await nginx.requests(atLeast: 2).last?.ifRange == "Tue, 14 Nov 2023 22:13:20 GMT")
    }

    @Test func `a certificate of a private authority is accepted with --cacert or -k, and refused without`()
        async throws
    {
        let authority = try await TestCA()
        let nginx = try await nginx {
            $0.authority = authority
            $0.bytesPerSecond = nil
        }
        let refused = try await work.fetch(nginx.url("/file.bin"))
        #expect(refused.ending == .exited(3), "\(refused)")
        #expect(refused.errorOutput.contains(nginx.url("/file.bin")))
        #expect(refused.errorOutput.lowercased().contains("certificate"))
        let trusted = try await work.fetch("--cacert", authority.certificate, nginx.url("/file.bin"))
        #expect(trusted.ending == .exited(0), "\(trusted)")
        #expect(content.equalsFile(at: trusted.lines.first ?? ""))
        #expect(try await work.fetch("-k", "--refresh", nginx.url("/file.bin")).ending == .exited(0))
        #expect(try await nginx.requests(atLeast: 2).count == 2)
    }
}
