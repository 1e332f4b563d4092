import Foundation
import TestSupport
import Testing

/// The environment of one test: a cache directory, a folder for output, and the command on both.
struct TestWorkspace {
    let directory: TestDirectory
    var command: CommandRunner

    /// - Parameter cache: the cache directory; nil: a new one inside the test's own folder.
    init(cache: String? = nil) throws {
        directory = try TestDirectory()
        let output = directory.path("output")
        try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
        command = CommandRunner(cacheDirectory: cache ?? directory.path("cache"), workingDirectory: output)
        // No ~/.netrc and no ~/.cache.
        command.environment["HOME"] = directory.path
    }

    /// The folders of a machine that shares a store.
    init(sharing store: ObjectStore) throws {
        try self.init()
        command.environment.merge(ObjectStore.environment(store.endpoint)) { $1 }
    }

    var cache: String { command.cacheDirectory }

    /// A path in the folder that the command runs in.
    func output(_ name: String) -> String { directory.path("output/\(name)") }

    /// Names in the folder that the command runs in, hidden ones included.
    var outputNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: output(""))) ?? []).sorted()
    }

    func run(_ arguments: String...) async throws -> CommandRunner.Outcome { try await command.run(arguments) }

    func fetch(_ arguments: String...) async throws -> CommandRunner.Outcome {
        try await command.run(["fetch"] + arguments)
    }

    /// Runs `imgcache fetch --json` and gives its first object with the outcome.
    func fetchJSON(_ arguments: String...) async throws -> (outcome: CommandRunner.Outcome, answer: FetchReport) {
        try await fetchJSON(arguments)
    }

    func fetchJSON(_ arguments: [String]) async throws -> (outcome: CommandRunner.Outcome, answer: FetchReport) {
        let outcome = try await command.run(["fetch", "--json"] + arguments)
        return (outcome, try FetchReport(outcome))
    }

    /// Downloads until the cut that the origin makes, and leaves the partial.
    func fetchUntilCut(_ url: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let outcome = try await fetch("--retry", "0", url)
        #expect(outcome.ending == .exited(3), "\(outcome)", sourceLocation: sourceLocation)
    }

    /// Waits until the records of partials below a folder (nil: in the cache) name blocks of so many bytes: these survive a kill. An origin's
    /// bytes may still be in the sockets' buffers, and the data's length says nothing: a block's slot in the record is written after its bytes.
    func waitForRecordedBytes(_ count: Int64, in folder: String? = nil) async -> Bool {
        await eventually { recordedBytes(in: folder ?? cache) >= count }
    }

    /// The bytes of the blocks that the records of partials below a folder name. For the layout see `PartialRecord`.
    func recordedBytes(in folder: String) -> Int64 {
        DiskUsage.files(at: folder).filter { $0.hasSuffix(".record") }.reduce(0) { sum, name in
            let record = [UInt8](FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data())
            guard record.count > 48 else { return sum }
            let slots = record[40..<48].reversed().reduce(0) { $0 << 8 | Int($1) }
            let blocks = stride(from: slots, to: record.count - 15, by: 16).count { start in
                record[start..<start + 16].contains { $0 != 0 }
            }
            return sum + Int64(blocks) * blockSize
        }
    }

    /// Checks every body against its checksum.
    func expectSoundStore(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let verified = try await run("verify")
        #expect(verified.ending == .exited(0), "\(verified)", sourceLocation: sourceLocation)
    }

    /// After a sweep, each body file is one that the list names, and each partial has its record.
    func expectNoOrphans(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        _ = try await run("prune")
        let listed = try await run("ls", "--json")
        let known = listed.objects.compactMap { $0["path"] as? String }.map { String($0.dropFirst(cache.count + 1)) }
        let files = DiskUsage.files(at: cache)
        let bodies = files.filter { $0.hasPrefix("bodies/") }
        #expect(bodies == known.sorted(), "\(listed)", sourceLocation: sourceLocation)
        for name in files where name.hasPrefix("partials/") && name.hasSuffix(".data") {
            let isRecorded = files.contains { $0.hasPrefix(name.dropLast("data".count)) && $0.hasSuffix(".record") }
            #expect(isRecorded, "\(name) of \(files)", sourceLocation: sourceLocation)
        }
    }
}

/// One object of `imgcache fetch --json`.
struct FetchReport: Decodable {
    var url: String
    var finalURL: String?
    var status: Int?
    var source: String?
    var path: String?
    var size: Int64?
    var bytesTransferred: Int64
    var resumedFrom: Int64
    var etag: String?
    var lastModified: String?
    var contentType: String?
    var sha256: String?
    var seconds: Double
    var error: String?

    enum CodingKeys: String, CodingKey {
        case url, status, source, path, size, etag, sha256, seconds, error
        case finalURL = "final_url"
        case bytesTransferred = "bytes_transferred"
        case resumedFrom = "resumed_from"
        case lastModified = "last_modified"
        case contentType = "content_type"
    }

    init(_ outcome: CommandRunner.Outcome) throws {
        let line = try #require(outcome.lines.first, "no object: \(outcome)")
        self = try JSONDecoder().decode(FetchReport.self, from: Data(line.utf8))
    }
}

extension Behaviour {
    /// This behaviour, changed.
    func with(_ change: (inout Behaviour) -> Void) -> Behaviour {
        var changed = self
        change(&changed)
        return changed
    }
}

/// The size of a block whose checksum lets it be resumed.
let blockSize: Int64 = 256 << 10
