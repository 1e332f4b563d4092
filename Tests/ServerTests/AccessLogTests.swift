import Foundation
import Glibc
import HTTPServer
import HTTPTypes
import TestSupport
import Testing

@testable import imgcache_server

struct AccessLogTests {
    @Test func `the access log contains no signature, not even in an error`() {
        let client = ClientAddress("192.0.2.7")
        let head = RequestHead(method: .get, target: .path("/a?imgcache-sig=secret"))
        let record = RequestRecord(
            Request(head: head, client: client, peer: client, content: [], id: "1", received: .now), status: 502,
            error: "origin-unreachable", detail: "http://a/b?X-Amz-Signature=secret: connection refused")
        let line = String(decoding: record.line(at: .init(timeIntervalSince1970: 0)), as: UTF8.self)
        #expect(!line.contains("secret"), "\(line)")
        #expect(line.contains("connection refused"))
    }

    @Test func `the access log contains only ASCII characters and no password`() {
        let client = ClientAddress("192.0.2.7")
        let head = RequestHead(
            method: .get, target: .path("/a"), fields: [.userAgent: "http://me:secret@a.example/ \u{202E}x\u{9B}31m"])
        let record = RequestRecord(
            Request(head: head, client: client, peer: client, content: [], id: "1", received: .now), status: 200)
        let line = String(decoding: record.line(at: .init(timeIntervalSince1970: 0)), as: UTF8.self)
        #expect(line.unicodeScalars.allSatisfy(\.isASCII) && !line.contains("secret"), "\(line)")
    }

    @Test func `lines that could not be written are counted in the next line that can`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("log")
        func record(_ target: String) -> RequestRecord {
            let client = ClientAddress("192.0.2.7")
            let head = RequestHead(method: .get, target: .path(target))
            return RequestRecord(
                Request(head: head, client: client, peer: client, content: [], id: "1", received: .now), status: 200)
        }
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        let log = try AccessLog(.file(path))
        for number in 1...3 { log.record(record("/lost\(number)")) }
        await eventually { log.leftOut == 3 }
        try FileManager.default.removeItem(atPath: path)
        log.record(record("/kept"))
        await log.end(by: .now + .seconds(60))
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.contains("/kept") == true, "\(lines)")
        #expect(lines.last.map { $0.contains("\"log_lines_left_out\":3") } == true, "\(lines)")
    }

    @Test func `a reader that takes nothing delays the end of the log only as long as allowed`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("log")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        try #require(reader >= 0)
        defer { close(reader) }
        let log = try AccessLog(.file(path))
        let client = ClientAddress("192.0.2.7")
        let head = RequestHead(method: .get, target: .path("/a"))
        let record = RequestRecord(
            Request(head: head, client: client, peer: client, content: [], id: "1", received: .now), status: 200)
        // More than a pipe holds.
        let count = 10_000
        for _ in 0..<count { log.record(record) }
        await log.end(by: .now)
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let bytes = read(reader, &buffer, buffer.count)
            guard bytes > 0 else { break }
            received += buffer[..<bytes]
        }
        let lines = received.count { $0 == UInt8(ascii: "\n") }
        #expect(lines > 0 && lines + log.leftOut == count, "\(lines), \(log.leftOut)")
    }

    @Test func `without a reader of its pipe the log loses lines, and delays neither start nor end`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("log")
        try #require(mkfifo(path, 0o600) == 0)
        let client = ClientAddress("192.0.2.7")
        let head = RequestHead(method: .get, target: .path("/a"))
        let record = RequestRecord(
            Request(head: head, client: client, peer: client, content: [], id: "1", received: .now), status: 200)
        let log = try AccessLog(.file(path))
        for _ in 1...3 { log.record(record) }
        await eventually { log.leftOut == 3 }
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        try #require(reader >= 0)
        log.record(record)
        await log.end(by: .now + .seconds(60))
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(reader, &buffer, buffer.count)
        close(reader)
        let lines = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.contains("/a") == true, "\(lines)")
        #expect(lines.last.map { $0.contains("\"log_lines_left_out\":3") } == true, "\(lines)")
        let other = try AccessLog(.file(path))
        other.record(record)
        await other.end(by: .now)
        #expect(other.leftOut == 1)
    }

    @Test func `a line that was written in part is ended once, and each lost line counts once`() {
        var backlog = LogBacklog()
        var file: [UInt8] = []
        func write(_ count: Int) {
            let batch = backlog.take()
            let written = min(count, batch.bytes.count)
            file += batch.bytes[..<written]
            backlog.note(written, of: batch)
        }
        func add(_ line: String, upTo limit: Int = 100) -> Bool { backlog.add(Array(line.utf8), upTo: limit) }
        for line in ["first", "second", "third"] { #expect(add(line)) }
        write(8)
        #expect(backlog.leftOut == 2)
        write(0)
        #expect(backlog.leftOut == 2)
        #expect(add("fourth"))
        write(.max)
        #expect(add("fifth"))
        write(.max)
        write(.max)
        #expect(!add("sixth", upTo: 0) && backlog.leftOut == 1)
        let text = String(decoding: file, as: UTF8.self)
        #expect(text == "first\nse\nfourth\n{\"log_lines_left_out\":2}\nfifth\n")
    }

    @Test func `several writers of a pipe do not mix their lines, unless one is longer than a pipe takes at once`() {
        func lines(_ lengths: Int...) -> [UInt8] {
            lengths.flatMap { [UInt8](repeating: 97, count: $0 - 1) + [UInt8(ascii: "\n")] }
        }
        for (bytes, pieces) in [
            (lines(100, 200), [300]), (lines(4000, 200, 300), [4000, 500]), (lines(4096), [4096]),
            (lines(4095, 1, 1), [4096, 1]), (lines(2048, 2049, 2048), [2048, 2049, 2048]),
            (lines(100, 5000, 10), [100, 4096, 914]), (lines(9000, 4000), [4096, 4096, 808, 4000]),
        ] as [([UInt8], [Int])] {
            var rest = bytes[...]
            var counts: [Int] = []
            while !rest.isEmpty {
                let piece = LogBacklog.piece(of: rest)
                #expect(piece.startIndex == rest.startIndex)
                guard !piece.isEmpty else { break }
                counts.append(piece.count)
                rest = rest.dropFirst(piece.count)
            }
            #expect(counts == pieces)
        }
    }

    @Test func `times in a log are written in UTC with milliseconds`() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400.5, "2000-02-29T00:00:00.500Z"),
            (1_795_282_516.971, "2026-11-21T17:35:16.971Z"), (1_798_761_599.999, "2026-12-31T23:59:59.999Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.000Z"),
        ] as [(Double, String)] {
            #expect(TimeText.text(of: Date(timeIntervalSince1970: seconds)) == text)
        }
    }
}
