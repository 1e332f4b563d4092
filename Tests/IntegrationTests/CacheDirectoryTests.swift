import Foundation
import TestSupport
import Testing

/// Which folders the command takes for its cache, and which it leaves alone.
@Suite(.fewAtATime) struct CacheDirectoryTests {
    private let work: TestWorkspace

    init() throws {
        work = try TestWorkspace()
    }

    @Test(arguments: [["prune"], ["fetch", "URL"], ["ls"], ["clear"], ["verify"], ["fetch", "-o", "file", "URL"]])
    func `a folder with other files is refused in one line, and nothing in it is changed`(arguments: [String])
        async throws
    {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 1000))
        for name in ["partials/notes.txt", "bodies/ab/photo", "index.sqlite"] {
            let path = "\(work.cache)/\(name)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data("mine".utf8).write(to: URL(filePath: path))
            let old = Date(timeIntervalSinceNow: -30 * 24 * 3600)
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: path)
        }
        let before = DiskUsage.files(at: work.cache)
        let outcome = try await work.command.run(arguments.map { $0 == "URL" ? origin.url() : $0 })
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
        #expect(outcome.errorOutput.contains(work.cache), "\(outcome)")
        #expect(DiskUsage.files(at: work.cache) == before)
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: [
        ["ls"], ["path", "http://a/"], ["info", "http://a/"], ["stats"], ["verify"], ["rm", "http://a/"], ["clear"],
        ["clear", "--partials"], ["clear", "--owner", "ann"], ["prune"], ["prune", "--to", "0", "--dry-run"],
    ])
    func `a command that reads or removes exits with 7 if there is no cache, and makes none`(arguments: [String])
        async throws
    {
        let outcome = try await work.command.run(arguments)
        #expect(outcome.ending == .exited(7), "\(outcome)")
        #expect(outcome.errorOutput.contains("there is no cache"), "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: work.cache))
    }
}
