import Foundation
import Glibc
import TestSupport
import Testing

/// `self-test` and `doctor`.
@Suite(.fewAtATime) struct DiagnosisTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { request in
            Behaviour(Representation(seed: 151, size: 600_000)).with {
                if request.path.hasSuffix("cut") { $0.cutAfter = 300_000 }
            }
        }
    }

    /// The findings by name, and the exit code.
    private func findings(_ arguments: String...) async throws -> (
        all: [String: (verdict: String, text: String)], ending: ChildProcess.Ending
    ) {
        let outcome = try await work.command.run(arguments + ["--json"])
        var all: [String: (verdict: String, text: String)] = [:]
        for object in outcome.objects {
            guard let name = object["name"] as? String, let verdict = object["verdict"] as? String,
                let text = object["text"] as? String
            else {
                Issue.record("not a finding: \(object)")
                continue
            }
            all[name] = (verdict, text)
        }
        return (all, outcome.ending)
    }

    @Test func `self-test tries libraries, TLS, formats, workers, locks and space, and leaves nothing behind`()
        async throws
    {
        let (all, ending) = try await findings("self-test")
        #expect(ending == .exited(0), "\(all)")
        for name in [
            "libcurl", "TLS", "JPEG", "PNG", "WebP", "AVIF", "GIF", "HEIF", "JPEG XL", "TIFF", "workers", "locks",
            "clones", "space", "folder",
            "disk",
        ] {
            #expect(all[name] != nil, "\(name): \(all)")
        }
        #expect(all["libcurl"]?.text.hasPrefix("libcurl/") == true)
        for name in ["libcurl", "JPEG", "PNG", "HEIF", "JPEG XL", "TIFF", "locks"] {
            #expect(all[name]?.verdict == "ok", "\(name): \(all)")
        }
        #expect(access(work.cache, F_OK) != 0, "a cache was created")
        #expect(try FileManager.default.contentsOfDirectory(atPath: work.directory.path) == ["output"])
        #expect(try await work.run("self-test").output.contains("ok       libcurl"))
    }

    @Test func `self-test of a folder that cannot be written ends with 6`() async throws {
        let outcome = try await work.run("self-test", "--cache-dir", "/proc/none/cache")
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.output.contains("problem  folder"), "\(outcome)")
    }

    @Test func `doctor finds nothing wrong with a healthy or a missing cache`() async throws {
        let none = try await findings("doctor")
        #expect(none.ending == .exited(0), "\(none.all)")
        #expect(try await work.fetch(origin.url("/a"), origin.url("/b")).ending == .exited(0))
        _ = try await work.fetch("--retry", "0", origin.url("/cut"))
        let (all, ending) = try await findings("doctor", work.cache)
        #expect(ending == .exited(0), "\(all)")
        #expect(all.values.allSatisfy { $0.verdict == "ok" }, "\(all)")
        #expect(all["entries"]?.text.hasPrefix("2, ") == true, "\(all)")
        #expect(all["partials"]?.text.hasPrefix("1 (293 KiB), 0 being downloaded") == true, "\(all)")
    }

    @Test func `doctor finds missing, truncated and foreign bodies, an index set aside, and open permissions`()
        async throws
    {
        for path in ["/a", "/b", "/c"] { #expect(try await work.fetch(origin.url(path)).ending == .exited(0)) }
        let bodies = DiskUsage.files(at: work.cache).filter { $0.hasPrefix("bodies/") }.map { "\(work.cache)/\($0)" }
        try #require(bodies.count == 3)
        try FileManager.default.removeItem(atPath: bodies[0])
        #expect(truncate(bodies[1], 10) == 0)
        try Data([1]).write(to: URL(filePath: work.cache + "/bodies/00/00000000000fff00"))
        try Data([1]).write(to: URL(filePath: work.cache + "/index.sqlite.aside"))
        chmod(work.cache, 0o777)
        let (all, ending) = try await findings("doctor")
        #expect(ending == .exited(6))
        #expect(all["entries"]?.text.contains("1 have no file and 1 one of a wrong length") == true, "\(all)")
        #expect(all["files"]?.verdict == "note", "\(all)")
        #expect(all["index"]?.text.contains("index.sqlite.aside") == true, "\(all)")
        #expect(all["folder"]?.text.contains("chmod 700") == true, "\(all)")
        #expect(try await work.run("verify", "--repair").ending == .exited(0))
        chmod(work.cache, 0o700)
        #expect(try await findings("doctor").all["entries"]?.verdict == "ok")
    }

    @Test func `a cache directory that everyone can write into is used with a warning, also for a hit`() async throws {
        let url = origin.url("/a")
        #expect(try await work.fetch(url).errorOutput.isEmpty)
        chmod(work.cache, 0o777)
        for arguments in [
            ["fetch", url], ["fetch", "-o", "file", url], ["ls"], ["cat", url], ["fetch", url, "-d", "."],
        ] {
            let outcome = try await work.command.run(arguments)
            #expect(outcome.ending == .exited(0), "\(outcome)")
            let warnings = outcome.errorOutput.split(separator: "\n").filter { $0.contains("everyone can write") }
            #expect(warnings.count == 1 && warnings.first?.contains(work.cache) == true, "\(outcome)")
        }
        #expect(try await work.fetch("-q", url).errorOutput.isEmpty)
        chmod(work.cache, 0o700)
        #expect(try await work.fetch(url).errorOutput.isEmpty)
    }

    @Test func `doctor refuses a foreign folder, and a second folder`() async throws {
        let foreign = work.directory.path("foreign")
        try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(filePath: foreign + "/file"))
        #expect(try await work.run("doctor", foreign).ending == .exited(6))
        #expect(try await work.run("doctor", foreign, "--cache-dir", work.cache).ending == .exited(2))
    }
}
