import Foundation
import TestSupport
import Testing

/// No file of one run overwrites another.
@Suite(.fewAtATime) struct TargetNameTests {
    private let work: TestWorkspace
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin { request in
            var representation = Representation(seed: UInt64(request.path.utf8.reduce(0) { $0 &+ Int($1) }), size: 5000)
            if request.path.hasPrefix("/named") {
                representation.fields = [("Content-Disposition", "attachment; filename=\"b.bin\"")]
            }
            return Behaviour(representation)
        }
    }

    @Test(arguments: [[], ["--force"]])
    func `two URLs with one name are an error that names both, before anything is fetched`(force: [String]) async throws
    {
        let urls = [origin.url("/a/x.png"), origin.url("/other.png"), origin.url("/b/x.png?size=1")]
        for target in [["-d", "out"], ["-O"]] {
            let outcome = try await work.command.run(["fetch"] + force + target + urls)
            #expect(outcome.ending == .exited(2), "\(outcome)")
            #expect(outcome.errorOutput.contains(urls[0]) && outcome.errorOutput.contains(urls[2]), "\(outcome)")
        }
        #expect(origin.requests.isEmpty)
        #expect(work.outputNames.isEmpty)
        let thumbs = try await work.command.run(["thumb", "-d", "out"] + force + [origin.url("/a/x.png"), "x.jpg"])
        #expect(thumbs.ending == .exited(2) && thumbs.errorOutput.contains("x.jpg"), "\(thumbs)")
        // Its names never come from a response.
        let sizes = [origin.url("/a/x.png?v=1"), origin.url("/a/x.png?v=2")]
        let queries = try await work.command.run(["thumb", "-d", "out"] + force + sizes)
        #expect(queries.ending == .exited(2) && sizes.allSatisfy(queries.errorOutput.contains), "\(queries)")
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: [[], ["--force"]])
    func `two responses with one file name fail for the later one, and nothing is overwritten`(
        force: [String]
    ) async throws {
        for others in [["/named/2"], ["/b.bin"]] {
            let urls = (["/named/1"] + others).map { origin.url($0) }
            let outcome = try await work.command.run(["fetch", "-j", "1", "-d", "out"] + force + urls)
            #expect(outcome.ending == .exited(6), "\(outcome)")
            #expect(urls.allSatisfy(outcome.errorOutput.contains), "\(outcome)")
            #expect(outcome.output == "out/b.bin\n\n", "\(outcome)")
            let first = Content(seed: UInt64("/named/1".utf8.reduce(0) { $0 &+ Int($1) }), size: 5000)
            #expect(first.equalsFile(at: work.output("out/b.bin")))
            try FileManager.default.removeItem(atPath: work.output("out"))
        }
    }

    @Test func `URLs that differ only in their query get their file names from Content-Disposition`()
        async throws
    {
        let origin = try ScriptedOrigin { request in
            var representation = Representation(seed: 5, size: 5000)
            let name = request.target.contains("id=") ? request.target.suffix(1) : "same"
            representation.fields = [("Content-Disposition", "attachment; filename=\"\(name)\"")]
            return Behaviour(representation)
        }
        let good = try await work.fetch("-d", "out", origin.url("/get?id=1"), origin.url("/get?id=2"))
        #expect(good.ending == .exited(0), "\(good)")
        #expect(good.lines == ["out/1", "out/2"])
        let bad = try await work.fetch("-d", "out", "--force", origin.url("/get?a"), origin.url("/get?b"))
        #expect(bad.ending == .exited(6), "\(bad)")
    }

    @Test(arguments: [[], ["--force"]])
    func `one URL that is named twice is one file`(force: [String]) async throws {
        let url = origin.url("/a.png")
        let outcome = try await work.command.run(["fetch", "-d", "out"] + force + [url, url, url])
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(outcome.lines == ["out/a.png", "out/a.png", "out/a.png"])
    }
}
