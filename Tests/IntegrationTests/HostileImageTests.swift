import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// The command on broken and malicious images, with a memory limit of 512 MiB. The images are those of `TestAssets`, or of the folder in
/// `IMGCACHE_IMAGES`.
@Suite(
    .enabled(if: MemoryCgroup.unavailableReason == nil, "\(MemoryCgroup.unavailableReason ?? "")"),
    .disabled(if: isSanitized(), "a sanitizer needs memory of its own"), .fewAtATime(limit: .seconds(180)))
struct HostileImageTests {
    private static let folder: String = {
        let own = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets")
        return (ProcessInfo.processInfo.environment["IMGCACHE_IMAGES"] ?? own.standardized.path) + "/hostile"
    }()
    private static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()

    @Test func `there are hostile images to be tried`() { #expect(Self.names.count > 400) }

    @Test(arguments: names) func `a hostile image gives a thumbnail or one sentence with the reason, within 512 MiB`(
        name: String
    )
        async throws
    {
        try await check("\(Self.folder)/\(name)")
    }

    /// Each takes gigabytes, or seconds for each megabyte, of a decoder that believes it.
    static let made: [(name: String, bytes: [UInt8])] = [
        ("grid.avif", HostileImages.avif(HostileImages.Grid(rows: 20, columns: 70))),
        ("items.avif", HostileImages.avif(HostileImages.Grid(rows: 64, columns: 150))),
        ("profile.png", HostileImages.png(profile: HostileImages.profile(steps: 20_000))),
        ("chunks.png", HostileImages.png(chunks: 1_000_000)), ("frames.gif", HostileImages.gif(frames: 1_000_000)),
    ]

    @Test(arguments: made.map(\.name))
    func `a small file that demands too much is refused with one sentence, within 512 MiB`(name: String) async throws {
        let folder = try TestDirectory()
        let made = try #require(Self.made.first { $0.name == name })
        let path = "\(folder.path)/\(name)"
        try Data(made.bytes).write(to: URL(filePath: path))
        try await check(path, expecting: .exited(5))
    }

    private func check(_ path: String, expecting expected: ChildProcess.Ending? = nil) async throws {
        let work = try TestWorkspace()
        let memory = try MemoryCgroup(limit: 512 << 20)
        var command = work.command
        command.environment["MEMORY"] = memory.folder
        // Where a format has animations, all frames are read.
        let output = ["gif", "webp"].contains { path.hasSuffix(".\($0)") } ? "thumbnail.webp" : "thumbnail.png"
        command.environment["NAME"] = output
        command.environment["FILE"] = path
        // A hang is killed, and an ending by signal then, as running out of memory is.
        let outcome = try await command.shell(
            #"echo $$ >"$MEMORY/cgroup.procs" && exec "$IMGCACHE" thumb "$FILE" -o "$NAME" --size 64"#)
        if let expected { #expect(outcome.ending == expected, "\(outcome)") }
        switch outcome.ending {
        case .exited(0):
            let info = try ImageInfo.read(ImageSource(path: work.output(output)))
            #expect(info.format == (output.hasSuffix("png") ? .png : .webp))
            #expect(info.width > 0 && info.width <= 64 && info.height <= 64)
        case .exited(5):
            #expect(outcome.errorOutput.hasPrefix("imgcache: \(path): "), "\(outcome)")
            #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
            #expect(work.outputNames.isEmpty)
        default: Issue.record("\(outcome)")
        }
    }
}
