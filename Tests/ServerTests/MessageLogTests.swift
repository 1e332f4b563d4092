import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import Logging
import TestSupport
import Testing

@testable import imgcache_server

@Suite("Messages of the service")
struct MessageLogTests {
    private static let date = Date(timeIntervalSince1970: 1_700_000_000.25)

    private func line(_ data: [String: String], _ format: MessageFormat) -> String {
        String(
            decoding: MessageLog.line(
                at: Self.date, .warning, "an origin is left alone", data, from: "imgcache", as: format),
            as: UTF8.self)
    }

    @Test func `a text log message has the sentence first and then its values by name`() {
        #expect(
            line(["origin": "photos", "failures": "8"], .text)
                == "2023-11-14T22:13:20.250Z warning: an origin is left alone (failures=8, origin=photos)")
        #expect(line([:], .text) == "2023-11-14T22:13:20.250Z warning: an origin is left alone")
    }

    @Test func `a JSON log message is one object on one line`() {
        #expect(
            line(["origin": "a \"b\""], .json)
                == #"{"data":{"origin":"a \"b\""},"level":"warning","logger":"imgcache","message":"an origin is left alone","#
                + #""time":"2023-11-14T22:13:20.250Z"}"#)
    }

    /// A named pipe, a writer of messages to it, and a logger.
    private func logger(to path: String, limit: Int = 1 << 20) throws -> (Logger, LogWriter) {
        try #require(mkfifo(path, 0o600) == 0)
        let options = Locked(MessageLog.Options(level: .info, format: .text))
        let writer = MessageLog.writer(to: .file(path), options, limit: limit)
        return (Logger(label: "imgcache") { MessageLog(label: $0, options: options, writer) }, writer)
    }

    /// All that a pipe holds.
    private func text(from reader: Int32) -> String {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(reader, &buffer, buffer.count)
            guard count > 0 else { break }
            received += buffer[..<count]
        }
        return String(decoding: received, as: UTF8.self)
    }

    @Test func `messages wait for a reader that takes nothing without delaying who logs, and the others are counted`()
        async throws
    {
        let directory = try TestDirectory()
        let path = directory.path("messages")
        let (logger, writer) = try logger(to: path, limit: 1 << 16)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        try #require(reader >= 0)
        defer { close(reader) }
        // More than a pipe holds and may wait.
        let count = 10_000
        for number in 0..<count { logger.warning("an origin is left alone", metadata: ["number": "\(number)"]) }
        await writer.end(by: .now)
        let lines = text(from: reader).utf8.count { $0 == UInt8(ascii: "\n") }
        #expect(lines > 0 && lines + writer.leftOut == count, "\(lines), \(writer.leftOut)")
    }

    @Test func `the number of lost messages follows the next message that is written`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("messages")
        let (logger, writer) = try logger(to: path)
        for _ in 1...3 { logger.notice("nobody reads this") }
        await eventually { writer.leftOut == 3 }
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        try #require(reader >= 0)
        defer { close(reader) }
        logger.notice("this is read")
        await writer.end(by: .now + .seconds(60))
        let lines = text(from: reader).split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.hasSuffix("notice: this is read") == true, "\(lines)")
        #expect(lines.last?.hasSuffix("standard error was not read (messages=3)") == true, "\(lines)")
    }

    @Test func `a log whose backlog was full when its reader went away is written to the next reader`() async throws {
        signal(SIGPIPE, SIG_IGN)
        let directory = try TestDirectory()
        let path = directory.path("messages")
        let (logger, writer) = try logger(to: path, limit: 1 << 12)
        let former = open(path, O_RDONLY | O_NONBLOCK)
        try #require(former >= 0)
        let filler = open(path, O_WRONLY | O_NONBLOCK)
        try #require(filler >= 0)
        let page = [UInt8](repeating: UInt8(ascii: "\n"), count: 1 << 12)
        while write(filler, page, page.count) > 0 {}
        close(filler)
        let message = String(repeating: "a", count: 1000)
        // The first message waits for the reader, and the next ones for the first, until no more may wait.
        let isFull = await eventually {
            logger.notice("\(message)")
            return writer.leftOut > 0
        }
        #expect(isFull)
        let lost = writer.leftOut
        close(former)
        let hasFailed = await eventually { writer.leftOut > lost }
        #expect(hasFailed)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        try #require(reader >= 0)
        defer { close(reader) }
        logger.notice("a further message")
        var received = ""
        let isWritten = await eventually {
            received += text(from: reader)
            return received.contains("standard error was not read")
        }
        #expect(isWritten, "\(received)")
        await writer.end(by: .now)
    }

    @Test func `two logs with one pipe that nobody reads end in time, and leave its descriptor alone`() async throws {
        for _ in 1...5 {
            var ends: [Int32] = [0, 0]
            let isOpen = pipe(&ends) == 0
            try #require(isOpen)
            let (reader, end) = (ends[0], ends[1])
            let options = Locked(MessageLog.Options(level: .info, format: .text))
            let writers = (1...2).map { _ in MessageLog.writer(to: .descriptor(end), options) }
            let loggers = writers.map { writer in
                Logger(label: "imgcache") { MessageLog(label: $0, options: options, writer) }
            }
            // More than a pipe holds.
            let count = 2000
            for number in 1...count {
                for logger in loggers { logger.notice("nobody reads this", metadata: ["number": "\(number)"]) }
            }
            async let other: Void = writers[1].end(by: .now)
            await writers[0].end(by: .now)
            await other
            #expect(fcntl(end, F_GETFL) & O_NONBLOCK == 0)
            close(end)
            _ = fcntl(reader, F_SETFL, O_NONBLOCK)
            let lines = text(from: reader).utf8.count { $0 == UInt8(ascii: "\n") }
            close(reader)
            let leftOut = writers.map(\.leftOut).reduce(0, +)
            #expect(lines > 0 && lines + leftOut == 2 * count, "\(lines), \(leftOut)")
        }
    }

    @Test func `a log message masks secrets and stays on one line`() {
        let safe = MessageLog.safe("http://user:secret@h/?token=abc\nnext")
        #expect(!safe.contains("secret") && !safe.contains("abc") && !safe.contains("\n"), "\(safe)")
    }
}
