import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// The command on broken and malicious images, where it may use 512 MiB: `TestAssets`' or those of the folder that
/// `IMGCACHE_IMAGES` names.
@Suite(
    .enabled(if: MemoryCgroup.unavailableReason == nil, "\(MemoryCgroup.unavailableReason ?? "")"),
    .disabled(if: isSanitized(), "a sanitizer needs memory of its own"), .fewAtATime, .timeLimit(.minutes(60)))
struct HostileImageTests {
    private static let folder: String = {
        let own = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets")
        return (ProcessInfo.processInfo.environment["IMGCACHE_IMAGES"] ?? own.standardized.path) + "/hostile"
    }()
    private static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()

    @Test func `there are hostile images to be tried`() { #expect(Self.names.count > 400) }

    @Test(arguments: names) func `a thumbnail or one sentence that says why not, within 512 MiB`(name: String)
        async throws
    {
        let work = try TestWorkspace()
        let memory = try MemoryCgroup(limit: 512 << 20)
        var command = work.command
        command.environment["MEMORY"] = memory.folder
        // Where a format has animations, all frames are read.
        let output = ["gif", "webp"].contains { name.hasSuffix(".\($0)") } ? "thumbnail.webp" : "thumbnail.png"
        command.environment["NAME"] = output
        command.environment["FILE"] = "\(Self.folder)/\(name)"
        // A hang is killed, and an ending by signal then, as running out of memory is.
        let outcome = try await command.shell(
            #"echo $$ >"$MEMORY/cgroup.procs" && exec "$IMGCACHE" thumb "$FILE" -o "$NAME" --size 64"#)
        switch outcome.ending {
        case .exited(0):
            let info = try ImageInfo.read(ImageSource(path: work.output(output)))
            #expect(info.format == (output.hasSuffix("png") ? .png : .webp))
            #expect(info.width > 0 && info.width <= 64 && info.height <= 64)
        case .exited(5):
            #expect(outcome.errorOutput.hasPrefix("imgcache: \(Self.folder)/\(name): "), "\(outcome)")
            #expect(outcome.errorOutput.split(separator: "\n").count == 1, "\(outcome)")
            #expect(work.outputNames.isEmpty)
        default: Issue.record("\(outcome)")
        }
    }
}
