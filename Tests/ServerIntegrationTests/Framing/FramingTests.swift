import Foundation
import TestSupport
import Testing

/// Requests are smuggled where two parsers on the way see different requests in the same bytes. So this one is held against two
/// that are in front of and behind many services: what it accepts, each of them takes for the same requests.
///
/// `IMGCACHE_FRAMING_STREAMS` is the number of streams (2,000), `IMGCACHE_FRAMING_SECONDS` a time instead.
@Suite(.fewAtATime(limit: .seconds(300))) struct FramingTests {
    @Test func `streams of requests are split as nginx and llhttp split them`() async throws {
        var generator = SeededGenerator(for: "FramingTests")
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["IMGCACHE_FRAMING_SECONDS"].flatMap { Double($0) }
        let count = environment["IMGCACHE_FRAMING_STREAMS"].flatMap { Int($0) } ?? 2000
        let end = ContinuousClock.now + .seconds(seconds ?? 0)
        let others: [any OtherParser] = [LLHTTP(), try await NginxProxy()]

        var streams = MalformedRequest.all.map { Array($0.bytes.utf8) }
        var tried = 0
        var accepted = 0
        var differences: [String] = []
        repeat {
            while streams.count < min(1000, count) { streams.append(Stream.random(&generator)) }
            let own = streams.map { Framing.own($0) }
            for other in others {
                for (index, requests) in try await other.split(streams).enumerated() {
                    let difference = FramingDifference(own[index], requests, of: other.name, in: streams[index])
                    guard let difference else { continue }
                    differences.append("\(difference), in \(Stream.shown(streams[index]))")
                }
            }
            tried += streams.count
            accepted += own.reduce(0) { $0 + $1.requests.count }
            streams = []
        } while differences.count < 20 && (seconds == nil ? tried < count : ContinuousClock.now < end)

        print("streams: \(tried) tried, \(accepted) requests accepted, \(differences.count) differences")
        #expect(differences.isEmpty, "\(differences.prefix(20).joined(separator: "\n"))")
        // Streams that all parsers refuse entirely would prove nothing.
        #expect(accepted > tried / 4)
    }
}

/// A disagreement of two parsers about a stream, unless it is one of the known and harmless differences.
struct FramingDifference: CustomStringConvertible {
    let description: String

    /// nil: there is none.
    init?(_ own: Framing, _ theirs: [FramedRequest], of parser: String, in stream: [UInt8]) {
        for (mine, other) in zip(own.requests, theirs) where mine != other {
            description = "\(parser) reads \(other), this reader \(mine)"
            return
        }
        if theirs.count > own.requests.count {
            let fault = own.fault ?? "the end"
            if Self.overlooked[parser]?.contains(fault) ?? false { return nil }
            description = "\(parser) reads \(theirs[own.requests.count]), this reader \(fault)"
            return
        }
        if own.requests.count > theirs.count {
            let (next, host) = (own.requests[theirs.count], own.hosts[theirs.count])
            if Self.isRefused(next, host, by: parser, in: stream) { return nil }
            description = "this reader reads \(next), \(parser) nothing"
            return
        }
        return nil
    }

    /// Faults, by this reader's names for them, that others overlook. Where it refuses, and ends the connection, and they go on, no
    /// request is hidden from it that they see.
    private static let overlooked: [String: Set<String>] = [
        "llhttp": [
            // The last of several options in Connection does not win over `close` here.
            "close",
            // Leading zeros and extensions are bounded here; a chunk's data may end with LF alone there.
            "bad-chunk", "bare-line-feed",
            // HTTP allows content of a GET and gives it no meaning.
            "content", "transfer-coding", "expectation",
            // Errors that do not concern the framing.
            "no-host", "hosts", "bad-host", "bad-target", "target-too-long", "bad-version", "version", "connect",
            "bad-request-line", "bad-field-value", "bad-trailer", "too-many-fields",
        ],
        "nginx": [
            "close", "bad-chunk", "bare-line-feed", "content", "expectation", "no-host", "bad-host", "bad-target",
            "target-too-long", "bad-version", "version", "bad-request-line", "too-many-fields",
            // Lines that are no fields are passed over there.
            "bad-field-name", "bad-field-value", "bad-trailer", "folded-field",
        ],
    ]

    /// Returns true if the other parser refuses such a request for another reason than its framing.
    private static func isRefused(
        _ request: FramedRequest, _ host: String?, by parser: String, in stream: [UInt8]
    ) -> Bool {
        switch parser {
        case "llhttp":
            // It knows its methods and versions only, and takes no tab for white space.
            let methods = ["GET", "HEAD", "POST", "PUT", "DELETE"]
            let text = String(decoding: stream, as: UTF8.self)
            return !methods.contains(request.method) || stream.contains(9)
                || text.range(of: "HTTP/1\\.[2-9]", options: .regularExpression) != nil
        default:
            // Methods are capitals there, Host is not empty, and no tab stands before it.
            return !request.method.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == 0x5F || $0 == 0x2D }
                || host?.isEmpty == true || stream.contains(9) || isClosedByNginx(stream)
                // A percent sign that encodes nothing; the service refuses it too, behind the reader.
                || request.target.prefix { $0 != "?" }.range(of: "%(?![0-9A-Fa-f]{2})", options: .regularExpression)
                    != nil
        }
    }

    /// Returns true if nginx ends the connection early: `close` anywhere in the text of Connection is an option there, and Expect may
    /// not come twice.
    private static func isClosedByNginx(_ stream: [UInt8]) -> Bool {
        let text = String(decoding: stream, as: UTF8.self)
        return text.range(
            of: "\\nConnection:[^\\r\\n]*close|\\nExpect:[^\\r\\n]*\\r?\\n([^\\r\\n]+\\r?\\n)*Expect:",
            options: [.regularExpression, .caseInsensitive]) != nil
    }
}
