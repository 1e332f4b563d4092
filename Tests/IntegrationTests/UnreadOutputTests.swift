import Foundation
import Glibc
import TestSupport
import Testing

/// Pipes, FIFOs, devices and links as places to write to, and signals while one of them hangs.
@Suite(.fewAtATime(limit: .seconds(120))) struct UnreadOutputTests {
    private let work: TestWorkspace
    private let content = Content(seed: 71, size: 3_000_000)
    private let origin: ScriptedOrigin

    init() throws {
        work = try TestWorkspace()
        origin = try ScriptedOrigin(serving: Representation(seed: 71, size: 3_000_000), sendBuffer: nil)
    }

    /// A FIFO in the folder that the command runs in.
    private func fifo() throws -> String {
        let path = work.output("fifo")
        guard mkfifo(path, 0o600) == 0 else { throw SystemCallFailure("mkfifo") }
        return path
    }

    // MARK: Signals

    /// The cause of a blocked command: its arguments, and true if a process has the FIFO open without reading.
    enum Hang: String, CaseIterable {
        case openingTarget, unreadTarget, unreadStandardOutput, unreadStandardError, openingList, unwrittenList, thumb
    }

    @Test(arguments: Hang.allCases, [SIGINT, SIGTERM])
    func `one signal ends the command, whatever blocks it`(hang: Hang, signal: Int32) async throws {
        let fifo = try fifo()
        let url = origin.url("/a")
        var descriptor: Int32 = -1
        if hang != .openingTarget, hang != .openingList {
            descriptor = open(fifo, O_RDWR | O_CLOEXEC)
            #expect(descriptor >= 0)
        }
        defer { if descriptor >= 0 { close(descriptor) } }
        let script =
            switch hang {
            case .openingTarget, .unreadTarget: "exec \"$IMGCACHE\" fetch -o fifo \(url)"
            case .unreadStandardOutput: "exec \"$IMGCACHE\" fetch -o - \(url) > fifo"
            case .unreadStandardError: "exec \"$IMGCACHE\" fetch -v -o file \(url) 2> fifo"
            case .openingList, .unwrittenList: "exec \"$IMGCACHE\" fetch -i fifo"
            case .thumb: "exec \"$IMGCACHE\" thumb --size 10 -d out -i fifo"
            }
        // A shell may take a signal that arrives while it waits for its child for the child's.
        let before = hang == .unreadStandardError ? "head -c 65536 /dev/zero > fifo; " : ""
        let process = try work.command.startShell("\(before)echo ready >&2; \(script)")
        #expect(await process.says("ready"))
        switch hang {
        case .openingTarget, .unreadTarget, .unreadStandardOutput:
            #expect(await origin.waits { $0.first?.ending == .completed || ($0.first?.bodyBytesSent ?? 0) > 0 })
        default: break
        }
        // Until it has its handlers, the signal's own action ends it.
        try await Task.sleep(for: .milliseconds(100))
        process.send(signal: signal)
        let ending = await process.end()
        #expect(ending == .exited(130) || ending == .signaled(signal), "\(ending)")
    }

    // MARK: Places

    @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
    func `-o with a name of standard output writes to standard output`(name: String) async throws {
        let outcome = try await work.fetch("-o", name, origin.url("/a"))
        #expect(outcome.ending == .exited(0), "\(outcome.ending)")
        #expect(outcome.outputBytes == content.bytes())
        let appended = try await work.command.shell(
            "echo before > file; \"$IMGCACHE\" fetch -o \(name) \(origin.url("/a")) >> file; echo after >> file")
        #expect(appended.errorOutput.isEmpty, "\(appended)")
        let bytes = [UInt8](FileManager.default.contents(atPath: work.output("file")) ?? Data())
        #expect(bytes == Array("before\n".utf8) + content.bytes() + Array("after\n".utf8))
        let other = try await work.command.shell("\"$IMGCACHE\" fetch -o /dev/fd/7 \(origin.url("/a")) 7> seven")
        #expect(other.output == "/dev/fd/7\n", "\(other)")
        #expect(content.equalsFile(at: work.output("seven")))
    }

    @Test func `-o with a device writes into it, for thumbnails too`() async throws {
        #expect(try await work.fetch("-o", "/dev/null", origin.url("/a")).ending == .exited(0))
        let full = try await work.fetch("-o", "/dev/full", origin.url("/a"))
        #expect(full.ending == .exited(6) && full.errorOutput.contains("/dev/full"), "\(full)")
        // That is no reason to download it again past the store.
        #expect(!full.errorOutput.contains("not cached"), "\(full)")
        let image = work.output("image.png")
        try Data(base64Encoded: Self.pixel)?.write(to: URL(filePath: image))
        #expect(try await work.run("thumb", "--size", "1", "-o", "/dev/null", image).ending == .exited(0))
        let link = work.output("link.png")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real.png")
        #expect(try await work.run("thumb", "--size", "1", "-o", "link.png", image).ending == .exited(0))
        #expect(FileManager.default.fileExists(atPath: work.output("real.png")))
        for device in ["/dev/null", "/dev/full"] {
            var status = stat()
            #expect(stat(device, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR, "\(device)")
        }
    }

    /// A PNG of one pixel.
    private static let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    @Test func `-o with a symbolic link follows it, also one that leads to nothing yet`() async throws {
        try FileManager.default.createDirectory(atPath: work.output("real"), withIntermediateDirectories: false)
        let link = work.output("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real/file")
        for _ in 0..<2 {
            let outcome = try await work.fetch("-o", "link", origin.url("/a"))
            #expect(outcome.ending == .exited(0), "\(outcome)")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real/file")
            #expect(content.equalsFile(at: work.output("real/file")))
        }
        let nowhere = work.output("nowhere")
        try FileManager.default.createSymbolicLink(atPath: nowhere, withDestinationPath: "none/file")
        let refused = try await work.fetch("-o", "nowhere", origin.url("/a"))
        #expect(refused.ending == .exited(6) && refused.errorOutput.contains("does not exist"), "\(refused)")
    }
}
