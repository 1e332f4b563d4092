import ConcurrencyPrimitives
import Foundation
import Glibc
import HTTPTypes
import ImageProxy
import TestSupport
import Testing
import Transfer

/// Collects a body, and can be told to do something before it takes a piece.
private final class CollectingSink: BodySink {
    struct State {
        var head: ResponseHead?
        var placements: [BodyPlacement] = []
        var bytes: [UInt8] = []
        var endings: [AttemptEnding] = []
        var control: (any TransferControl)?
    }

    let state = Locked(State())
    private let partial: HeldPartial?
    private let beforeWrite: @Sendable (State) throws -> WriteResult

    init(
        holding partial: HeldPartial? = nil,
        beforeWrite: @escaping @Sendable (State) throws -> WriteResult = { _ in .accepted }
    ) {
        self.partial = partial
        self.beforeWrite = beforeWrite
    }

    func attach(_ transfer: any TransferControl) { state.withLock { $0.control = transfer } }
    func held() -> HeldPartial? { state.withLock { $0.placements.isEmpty } ? partial : nil }
    func begin(_ head: ResponseHead, _ placement: BodyPlacement) {
        state.withLock { state in
            state.head = head
            state.placements.append(placement)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
        let result = try beforeWrite(state.withLock { $0 })
        if case .accepted = result { state.withLock { $0.bytes += bytes } }
        return result
    }

    func end(_ ending: AttemptEnding) { state.withLock { $0.endings.append(ending) } }
}

@Suite struct FolderTransportTests {
    private let directory: TestDirectory
    private let content = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
    private static let old: time_t = 1_700_000_000

    init() throws {
        directory = try TestDirectory()
        for folder in ["root", "root/sub", "root/.git", "outside"] {
            try FileManager.default.createDirectory(atPath: directory.path(folder), withIntermediateDirectories: true)
        }
        for file in [
            "root/a.jpg", "root/sub/\u{E9} b.PNG", "root/.env", "root/.git/config", "root/sub/.hidden",
            "outside/secret",
            "root/plain",
        ] {
            try write(content, to: file)
        }
        for (link, target) in [
            ("root/inside.webp", "sub/\u{E9} b.PNG"), ("root/leak", "../outside/secret"),
            ("root/absolute", directory.path("outside/secret")), ("root/up", "../outside"), ("root/self", "self"),
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: directory.path(link), withDestinationPath: target)
        }
        try #require(mkfifo(directory.path("root/pipe"), 0o600) == 0)
    }

    /// Writes a file that was changed long ago, so that its tag is strong.
    private func write(_ bytes: [UInt8], to name: String, at seconds: time_t = old) throws {
        try Data(bytes).write(to: URL(filePath: directory.path(name)))
        let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, directory.path(name), times, 0) == 0)
    }

    /// - Parameter later: The seconds that have passed since the files were made.
    private func transport(later: Double = 10) throws -> FolderTransport {
        try FolderTransport(directory.path("root"), below: "/base") {
            Date(timeIntervalSinceNow: later)
        }
    }

    private func run(
        _ path: String, _ fields: HTTPFields = [:], method: HTTPRequest.Method = .get,
        into sink: CollectingSink = .init(),
        from transport: FolderTransport? = nil
    ) async throws(any Error) -> (result: TransferResult, sink: CollectingSink) {
        var request = TransferRequest(url: "http://files.invalid/base\(path)", method: method, fields: fields)
        request.options.forwardsErrorResponses = !fields.isEmpty
        let transport = try transport ?? self.transport()
        return (try await transport.run(request, into: sink), sink)
    }

    @Test(arguments: [
        ("/a.jpg", "image/jpeg"), ("/sub/%C3%A9%20b.PNG", "image/png"), ("/inside.webp", "image/webp"),
        ("/plain", "application/octet-stream"),
    ])
    func `a file is served whole, with its type by its name`(path: String, type: String) async throws {
        let (result, sink) = try await run(path)
        let fields = result.head.fields
        #expect(result.outcome == .body && result.head.status == .ok && result.bytesReceived == Int64(content.count))
        #expect(fields[.contentType] == type && fields[.contentLength] == "\(content.count)")
        #expect(fields[.lastModified] == "Tue, 14 Nov 2023 22:13:20 GMT" && fields[.cacheControl] == nil)
        #expect(fields[.eTag]?.hasPrefix("\"") == true && fields[.date] != nil && fields[.age] == nil)
        let state = sink.state.withLock { $0 }
        #expect(state.bytes == content && state.endings == [.complete])
        #expect(state.placements == [.whole(length: Int64(content.count))])
    }

    @Test(arguments: [
        "/nothing", "/leak", "/absolute", "/up/secret", "/self", "/pipe", "/sub", "/sub/", "/", "", "/.env",
        "/.git/config",
        "/sub/.hidden", "/../outside/secret", "/%2E%2E/outside/secret", "/sub%2F..%2Fa.jpg",
        "/a.jpg/",
        "/a.jpg%00", "//a.jpg", "/sub%2F%C3%A9%20b.PNG", "/%FF", "/a.jpg/x", "/\(String(repeating: "x", count: 300))",
    ])
    func `a path that is not a file below the folder is not found`(path: String) async throws {
        let (result, sink) = try await run(path)
        #expect(result.head.status == .notFound && result.outcome == .status, "\(result)")
        #expect(sink.state.withLock { $0.bytes.isEmpty })
    }

    @Test func `a URL outside the folder is not found`() async throws {
        for url in ["http://files.invalid/a.jpg", "http://files.invalid/based/a.jpg", "http://files.invalid/base"] {
            let result = try await transport().run(TransferRequest(url: url), into: CollectingSink())
            #expect(result.head.status == .notFound, "\(url)")
        }
    }

    @Test func `conditions, ranges, HEAD and other methods are those of HTTP`() async throws {
        let tag = try #require(try await run("/a.jpg").result.head.fields[.eTag])
        let same = try await run("/a.jpg", [.ifNoneMatch: tag])
        #expect(same.result.outcome == .notModified && same.result.head.fields[.eTag] == tag)
        let since = try await run("/a.jpg", [.ifModifiedSince: "Tue, 14 Nov 2023 22:13:20 GMT"])
        #expect(since.result.outcome == .notModified)
        #expect(try await run("/a.jpg", [.ifNoneMatch: "\"other\""]).result.head.status == .ok)

        let part = try await run("/a.jpg", [.range: "bytes=300-299999"])
        #expect(part.result.head.status == .partialContent)
        #expect(part.result.head.fields[.contentRange] == "bytes 300-299999/\(content.count)")
        #expect(part.sink.state.withLock { $0.bytes } == Array(content[300..<300_000]))
        let other = try await run("/a.jpg", [.range: "bytes=300-399", .ifRange: "\"other\""])
        #expect(other.result.head.status == .ok && other.sink.state.withLock { $0.bytes } == content)
        let beyond = try await run("/a.jpg", [.range: "bytes=9999999-"])
        #expect(beyond.result.head.status == .rangeNotSatisfiable)
        #expect(beyond.result.head.fields[.contentRange] == "bytes */\(content.count)")

        for fields: HTTPFields in [
            [.ifMatch: "\"other\""], [.ifMatch: "\"other\"", .range: "bytes=5-9"],
            [.ifUnmodifiedSince: "Tue, 14 Nov 2023 22:13:19 GMT"],
        ] {
            let failed = try await run("/a.jpg", fields)
            #expect(failed.result.head.status == .preconditionFailed && failed.sink.state.withLock { $0.bytes.isEmpty })
        }
        for fields: HTTPFields in [
            [.ifMatch: tag], [.ifMatch: "*"], [.ifUnmodifiedSince: "Tue, 14 Nov 2023 22:13:20 GMT"],
        ] {
            #expect(try await run("/a.jpg", fields).result.head.status == .ok)
        }

        let head = try await run("/a.jpg", method: .head)
        #expect(head.result.outcome == .status && head.result.head.fields[.contentLength] == "\(content.count)")
        #expect(head.sink.state.withLock { $0.placements.isEmpty })
        let post = try await run("/a.jpg", method: .post)
        #expect(post.result.head.status == .methodNotAllowed && post.result.head.fields[.allow] == "GET, HEAD")
    }

    private func partial(_ tag: String, missing: [Range<Int64>]) throws -> HeldPartial {
        HeldPartial(
            validator: .etag(tag), total: Int64(content.count), missing: missing,
            url: "http://files.invalid/base/a.jpg")
    }

    @Test func `held bytes are completed as long as the file is the same`() async throws {
        let tag = try #require(try await run("/a.jpg").result.head.fields[.eTag])
        let missing: Range<Int64> = 262_144..<Int64(content.count)
        let (result, sink) = try await run("/a.jpg", into: CollectingSink(holding: partial(tag, missing: [missing])))
        #expect(result.resumedFrom == 262_144 && result.outcome == .body)
        #expect(sink.state.withLock { $0.bytes } == Array(content[262_144...]))
        #expect(sink.state.withLock { $0.placements } == [.range(missing, total: Int64(content.count))])

        let whole = try await run("/a.jpg", into: CollectingSink(holding: partial(tag, missing: [])))
        #expect(whole.sink.state.withLock { $0.placements } == [.alreadyComplete(total: Int64(content.count))])
        #expect(whole.sink.state.withLock { $0.bytes.isEmpty })

        let changed = content.map { $0 ^ 1 }
        try write(changed, to: "root/a.jpg", at: Self.old + 10)
        let (again, other) = try await run("/a.jpg", into: CollectingSink(holding: partial(tag, missing: [missing])))
        #expect(again.resumedFrom == 0 && other.state.withLock { $0.bytes } == changed)
        #expect(!again.restarts.isEmpty)
    }

    /// Writes into a file in place, and gives it its former time.
    private static func change(_ path: String, to byte: UInt8) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: 600_000)
        try file.write(contentsOf: [byte])
        try file.close()
        let times = [timespec(tv_sec: old, tv_nsec: 0), timespec(tv_sec: old, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
    }

    @Test(arguments: [1, 3, 4])
    func `a file that changes while it is read is read again, and never a mixture`(changes: Int) async throws {
        let path = directory.path("root/a.jpg")
        let count = Locked(0)
        let sink = CollectingSink { state in
            let number = count.withLock { count in
                if state.endings.count == count { count += 1 } else { return 0 }
                return count
            }
            if number > 0, number <= changes { try Self.change(path, to: UInt8(number)) }
            return .accepted
        }
        guard changes < 4 else {
            let error = await #expect(throws: TransferError.self) { try await run("/a.jpg", into: sink) }
            #expect(error?.code == .cut && error?.isRetryable == true)
            #expect(sink.state.withLock { $0.endings } == [.cut, .cut, .cut, .cut])
            return
        }
        _ = try await run("/a.jpg", into: sink)
        let state = sink.state.withLock { $0 }
        #expect(state.endings == Array(repeating: .cut, count: changes) + [.complete])
        var last = content
        last[600_000] = UInt8(changes)
        #expect(Array(state.bytes.suffix(content.count)) == last)
    }

    @Test func `a sink may pause the transfer, and end it`() async throws {
        let pauses = Locked(2)
        let pausing = CollectingSink { state in
            let pauses = pauses.withLock { pauses in
                pauses -= 1
                return pauses
            }
            guard pauses >= 0 else { return .accepted }
            Task { state.control?.resume() }
            return .pause
        }
        _ = try await run("/a.jpg", into: pausing)
        #expect(pausing.state.withLock { $0.bytes } == content)

        let ending = CollectingSink { state in
            state.control?.cancel()
            return .accepted
        }
        let error = await #expect(throws: TransferError.self) { try await run("/a.jpg", into: ending) }
        #expect(error?.code == .cancelled && ending.state.withLock { $0.endings } == [.cut])
    }

    @Test func `the tag of a file that has just changed is weak`() async throws {
        try write(content, to: "root/a.jpg")
        let fields = try await run("/a.jpg", from: transport(later: 0)).result.head.fields
        #expect(fields[.eTag]?.hasPrefix("W/") == true && fields[.cacheControl] == nil)
    }

    @Test func `the folder may be replaced, and a missing folder gives 503`() async throws {
        let transport = try transport()
        let (root, aside) = (directory.path("root"), directory.path("aside"))
        try FileManager.default.moveItem(atPath: root, toPath: aside)
        #expect(try await run("/plain", from: transport).result.head.status == .serviceUnavailable)
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        #expect(try await run("/plain", from: transport).result.head.status == .notFound)
        try write([1, 2, 3], to: "root/plain")
        #expect(try await run("/plain", from: transport).sink.state.withLock { $0.bytes } == [1, 2, 3])
    }

    @Test(arguments: ["nowhere", "root/a.jpg"])
    func `a folder that cannot be opened is reported with the reason`(name: String) throws {
        let error = #expect(throws: FolderTransport.Unusable.self) {
            try FolderTransport(directory.path(name), below: "/base")
        }
        #expect(error?.reason == (name == "nowhere" ? "No such file or directory" : "Not a directory"))
    }
}
