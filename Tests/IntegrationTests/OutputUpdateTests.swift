import Foundation
import TestSupport
import Testing

/// Files that are in the way of a download, and disks without room for it: known before the body is transferred.
@Suite(.fewAtATime) struct OutputUpdateTests {
    private static let old = Representation(seed: 31, size: 300_000)
    private static let new = Representation(seed: 32, size: 400_000)
    /// A representation with the length of the old one.
    private static let same = Representation(seed: 33, size: 300_000)

    private let work: TestWorkspace

    init() throws { work = try TestWorkspace() }

    /// An origin whose file changes after the first request; the second body is held up by the gate.
    private func origin(_ second: Representation = Self.new, _ gate: Gate? = nil) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            guard request.number > 1 else { return Behaviour(Self.old) }
            return Behaviour(second).with { if let gate { $0.bodyGate = (1000, gate) } }
        }
    }

    private func content(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: work.output(name))) }

    private func fetched(_ origin: ScriptedOrigin, _ arguments: String...) async throws -> CommandRunner.Outcome {
        try await work.command.run(["fetch", "--revalidate", "-d", "set"] + arguments + [origin.url("/file.bin")])
    }

    @Test(arguments: ["clone", "copy", "hardlink", "symlink"])
    func `a file that is unchanged since its delivery is updated`(mode: String) async throws {
        let origin = try origin()
        #expect(try await fetched(origin, "--link-mode", mode).ending == .exited(0))
        #expect(try content("set/file.bin") == Data(Self.old.content.bytes()))
        let outcome = try await fetched(origin, "--link-mode", mode)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try content("set/file.bin") == Data(Self.new.content.bytes()))
        #expect(origin.requests.count == 2)
    }

    static let modes = ["clone", "copy", "hardlink", "symlink"]

    @Test(arguments: modes, modes)
    func `a delivered file is replaced in another mode, and the store stays sound`(
        former: String, mode: String
    ) async throws {
        let origin = try origin()
        #expect(try await fetched(origin, "--link-mode", former).ending == .exited(0))
        let outcome = try await fetched(origin, "--link-mode", mode)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try content("set/file.bin") == Data(Self.new.content.bytes()))
        try await work.expectSoundStore()
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: work.output("set/file.bin"))
        #expect((link != nil) == (mode == "symlink"))
    }

    @Test(arguments: ["changed", "foreign"])
    func `a changed or foreign file is refused before the transfer, and kept`(kind: String) async throws {
        let gate = Gate()
        let origin = try origin(Self.new, gate)
        defer { gate.open() }
        var content = Data("mine".utf8)
        #expect(try await fetched(origin).ending == .exited(0))
        if kind == "changed" {
            content = try self.content("set/file.bin")
            content[7] ^= 1
        }
        try content.write(to: URL(filePath: work.output("set/file.bin")))
        let refused = try await fetched(origin)
        #expect(refused.ending == .exited(6), "\(refused)")
        #expect(refused.errorOutput.contains("set/file.bin: the file exists; --force overwrites it"), "\(refused)")
        #expect(try self.content("set/file.bin") == content)
        gate.open()
        let forced = try await fetched(origin, "--force")
        #expect(forced.ending == .exited(0), "\(forced)")
        #expect(try self.content("set/file.bin") == Data(Self.new.content.bytes()))
    }

    @Test func `a changed file of the new one's length is refused, too`() async throws {
        let origin = try origin(Self.same)
        #expect(try await fetched(origin).ending == .exited(0))
        var content = try content("set/file.bin")
        content[7] ^= 1
        try content.write(to: URL(filePath: work.output("set/file.bin")))
        let refused = try await fetched(origin)
        #expect(refused.ending == .exited(6), "\(refused)")
        #expect(try self.content("set/file.bin") == content)
    }

    @Test func `a name that the response suggests is not taken for the URL's`() async throws {
        var representation = Self.old
        representation.fields = [("Content-Disposition", "attachment; filename=other.bin")]
        let origin = try ScriptedOrigin { [representation] _ in Behaviour(representation) }
        try FileManager.default.createDirectory(atPath: work.output("set"), withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: URL(filePath: work.output("set/file.bin")))
        let outcome = try await fetched(origin)
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(try content("set/file.bin") == Data("mine".utf8))
        #expect(try content("set/other.bin") == Data(Self.old.content.bytes()))
    }

    @Test(
        .enabled(if: Tmpfs.unavailableReason == nil, "\(Tmpfs.unavailableReason ?? "")"),
        arguments: [["-o", "file"], ["-d", "."], ["-d", "new"], ["-O"], ["--tree", "."]])
    func `a target that may not be written is refused before the transfer`(options: [String]) async throws {
        let disk = try Tmpfs(size: 1 << 20)
        try disk.setReadOnly(true)
        let origin = try origin()
        var command = work.command
        command.workingDirectory = disk.path
        let outcome = try await command.run(["fetch"] + options + [origin.url("/file.bin")])
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.contains("the current directory is on a read-only file system"), "\(outcome)")
        #expect(origin.requests.isEmpty)
    }

    @Test(
        .enabled(if: Tmpfs.unavailableReason == nil, "\(Tmpfs.unavailableReason ?? "")"),
        arguments: [["-o", "NAME"], ["-d", "FOLDER"]])
    func `a target without room is refused when the length is known`(options: [String]) async throws {
        let disk = try Tmpfs(size: 1 << 20)
        let gate = Gate()
        defer { gate.open() }
        let origin = try ScriptedOrigin { _ in
            Behaviour(Representation(seed: 41, size: 3_000_000)).with { $0.bodyGate = (1000, gate) }
        }
        let places = ["NAME": disk.path + "/big.bin", "FOLDER": disk.path]
        let outcome = try await work.command.run(
            ["fetch"] + options.map { places[$0] ?? $0 } + [origin.url("/big.bin")])
        #expect(outcome.ending == .exited(6), "\(outcome)")
        #expect(outcome.errorOutput.contains("big.bin: the file needs 2.86 MiB there, and "), "\(outcome)")
        #expect(origin.requests.count == 1)
        #expect(!FileManager.default.fileExists(atPath: disk.path + "/big.bin"))
    }
}
