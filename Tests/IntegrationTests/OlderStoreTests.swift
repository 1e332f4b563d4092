import Foundation
import TestSupport
import Testing

/// The cache directory that an earlier program made (`TestAssets/stores`), opened by this one without a network.
@Suite(.fewAtATime) struct OlderStoreTests {
    private let work: TestWorkspace

    init() throws {
        work = try TestWorkspace()
        let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("TestAssets/stores/da4599c4.tar.gz").path
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tar.arguments = ["tar", "-xzf", archive, "-C", work.directory.path]
        try tar.run()
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0 && access(work.cache, F_OK) == 0)
    }

    private static let host = "http://127.0.0.1:8199"

    /// The body of `/data.bin`: a linear congruential generator.
    private static var data: [UInt8] {
        var state: UInt32 = 1
        return (0..<20_000).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    /// The body of `/part.bin`.
    private static var part: [UInt8] { (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) } }

    @Test func `an older version's store keeps its files, images, pins and partials undamaged`() async throws {
        let stored = try await work.fetch("--json", "--offline", Self.host + "/data.bin")
        #expect(stored.ending == .exited(0), "\(stored)")
        let path = try #require(try FetchReport(stored).path)
        #expect(FileManager.default.contents(atPath: path) == Data(Self.data))

        let image = work.output("thumb.png")
        let thumb = try await work.run("thumb", "--offline", "-s", "32", "-o", image, Self.host + "/photo.jpg")
        #expect(thumb.ending == .exited(0) && access(image, F_OK) == 0, "\(thumb)")

        #expect(try await work.run("verify").ending == .exited(0))
        let pins = try await work.run("pins")
        #expect(pins.ending == .exited(0) && pins.output.contains("set"), "\(pins)")
        let partials = try await work.run("ls", "--partials")
        #expect(partials.output.contains("/part.bin"), "\(partials)")
        try await work.expectSoundStore()
    }

    @Test func `a partial in an older version's store is resumed`() async throws {
        let body = Self.part
        let origin = try ScriptedOrigin { request in
            let start = request["Range"].flatMap { Int($0.dropFirst("bytes=".count).prefix { $0.isNumber }) } ?? 0
            let isRange = request["Range"] != nil
            return [
                .head(
                    status: isRange ? 206 : 200,
                    fields: [
                        ("ETag", "\"part\""), ("Content-Length", "\(body.count - start)"),
                        ("Cache-Control", "max-age=60"),
                    ] + (isRange ? [("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)")] : [])),
                .body(Array(body[start...])),
            ]
        }
        // The URL is that of the older program's server, whose port may be taken now.
        let outcome = try await work.fetch(
            "--json", "--proxy", origin.url(""), Self.host + "/part.bin")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let report = try FetchReport(outcome)
        #expect(report.bytesTransferred < 600_000, "\(outcome)")
        #expect(FileManager.default.contents(atPath: try #require(report.path)) == Data(body))
    }
}
