import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transfer

/// The engine against an origin that cuts, lies and changes its mind.
@Suite(.fewAtATime) struct ResumingTransferTests {
    private let representation = Representation(seed: 7, size: 500_000)

    @Test func `a whole body arrives byte for byte`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url("/a")), into: sink)
        #expect(result.outcome == .body)
        #expect(result.attempts == 1)
        #expect(result.bytesReceived == 500_000)
        #expect(result.head.finalURL == origin.url("/a"))
        #expect(sink.bytes == representation.content.bytes())
        #expect(sink.calls == [.held, .begin(.whole(length: 500_000)), .end(.complete)])
        #expect(origin.requests.first?["accept-encoding"] == "identity")
    }

    @Test(arguments: [false, true])
    func `after cuts only what is missing is fetched`(byReset: Bool) async throws {
        let origin = try ScriptedOrigin { [representation] _ in
            var behaviour = Behaviour(representation)
            behaviour.cutAfter = 60_000
            behaviour.cutsByReset = byReset
            return behaviour
        }
        let sink = PartialSink()
        // More cuts than retries: each attempt makes progress.
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.retry.maxRetries = 2 }, into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.attempts == 9)
        #expect(result.bytesReceived == 500_000)
        #expect(result.restarts == [])
        #expect(origin.requests.dropFirst().allSatisfy { $0["if-range"] == "\"v7\"" })
        #expect(origin.requests[1]["range"] == "bytes=60000-")
    }

    @Test func `a cut chunked body is resumed where it ended, and its total becomes known`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            behaviour.framing = .chunked
            if request.number == 1 { behaviour.cutAfter = 100_000 }
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.bytesReceived == 500_000)
        #expect(sink.calls.contains(.begin(.range(100_000..<500_000, total: 500_000))))
    }

    @Test func `only the gaps of a partial are fetched, in order, and do not count as retries`()
        async throws
    {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink(
            holding: [0..<100_000, 150_000..<200_000, 200_001..<400_000], of: representation, url: origin.url())
        let events = EventLog()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.retry.maxRetries = 0 }, into: sink, events: events.note)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.bytesReceived == 150_001)
        #expect(result.resumedFrom == 349_999)
        #expect(
            origin.requests.compactMap { $0["range"] }
                == ["bytes=100000-149999", "bytes=200000-200000", "bytes=400000-"])
        let counts = events.all.compactMap { event in
            if case .received(let count, _) = event { count } else { nil }
        }
        #expect(counts.last == 500_000)
        #expect(counts == counts.sorted())
    }

    @Test func `a complete partial is confirmed by one byte`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink(holding: [0..<500_000], of: representation, url: origin.url())
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .body)
        #expect(result.bytesReceived == 1)
        #expect(sink.calls == [.held, .begin(.alreadyComplete(total: 500_000)), .end(.complete)])
    }

    @Test func `a complete partial of unknown length is confirmed by a 416 with its ETag`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink(holding: [0..<500_000], of: representation, totalKnown: false, url: origin.url())
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .body)
        #expect(result.bytesReceived == 0)
        #expect(result.head.status == .rangeNotSatisfiable)
        #expect(sink.calls == [.held, .begin(.alreadyComplete(total: 500_000)), .end(.complete)])
    }

    @Test func `a 416 without an ETag is not believed until a 206 confirms the last byte`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            request["range"] == "bytes=500000-"
                ? Behaviour.status(416, fields: [("Content-Range", "bytes */500000")]) : Behaviour(representation)
        }
        let sink = PartialSink(holding: [0..<500_000], of: representation, totalKnown: false, url: origin.url())
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .body)
        #expect(origin.requests.map { $0["range"] } == ["bytes=500000-", "bytes=499999-"])
        #expect(sink.begins == 1)
    }

    @Test func `a changed representation is transferred whole and reported as a restart`() async throws {
        let changed = Representation(seed: 8, size: 480_000)
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(request.number == 1 ? representation : changed)
            if request.number == 1 { behaviour.cutAfter = 200_000 }
            return behaviour
        }
        let sink = PartialSink()
        let events = EventLog()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()), into: sink, events: events.note)
        #expect(sink.bytes == changed.content.bytes())
        #expect(result.restarts.count == 1)
        #expect(result.restarts.first?.contains("the representation changed") == true)
        #expect(result.bytesReceived == 680_000)
        #expect(
            events.all.contains {
                if case .restart = $0 { true } else { false }
            })
    }

    static let faults: [Behaviour.RangeFault] = [
        .ignored, .shifted(start: -1, end: 0), .shifted(start: 1, end: 0), .shifted(start: 0, end: -1),
        .total(offBy: 1), .unit("items"), .missingContentRange, .etag("\"other\""), .etag(nil),
        .etag("W/\"v7\""), .multipart, .status(304), .status(412), .status(416), .unsatisfiable(total: 1),
        .unsatisfiable(total: nil), .unsatisfiable(total: 200_000),
    ]

    @Test(arguments: faults)
    func `a wrong answer to a range request never ends in a splice`(_ fault: Behaviour.RangeFault) async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            behaviour.rangeFault = fault
            if request.number == 1 { behaviour.cutAfter = 200_000 }
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.outcome == .body)
        #expect(result.restarts.count == 1)
        #expect(result.attempts <= 4)
    }

    @Test(arguments: [Behaviour.RangeFault.atMost(70_000), .total(offBy: nil)])
    func `a 206 with less than was asked for, or without the total, is continued`(
        _ fault: Behaviour.RangeFault
    ) async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            behaviour.rangeFault = fault
            if request.number == 1 { behaviour.cutAfter = 200_000 }
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.restarts.isEmpty)
        #expect(result.bytesReceived == representation.size)
    }

    @Test func `a 206 shorter than its Content-Range is a cut, and its bytes count`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            if request.number == 1 { behaviour.cutAfter = 200_000 }
            if request.number == 2 { behaviour.rangeFault = .short(by: 50_000) }
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.attempts == 3)
        #expect(result.bytesReceived == 500_000)
    }

    @Test(arguments: [399_999, 400_001])
    func `a 206 in chunks that is not as long as its range is dropped`(_ length: Int64) async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            if request["range"] == nil {
                if request.number == 1 { behaviour.cutAfter = 100_000 }
                return behaviour.script(for: request)
            }
            return [
                .head(
                    status: 206,
                    fields: [
                        ("ETag", "\"v7\""), ("Content-Range", "bytes 100000-499999/500000"),
                        ("Transfer-Encoding", "chunked"),
                    ]), .chunks(representation.content, 100_000..<(100_000 + length), chunkSize: 9_999),
                .raw("0\r\n\r\n"),
            ]
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.restarts.count == 1)
        #expect(sink.calls.contains(.end(.discarded)))
    }

    @Test func `a 206 that ends with the connection and is too short was cut, not wrong`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            if request.number == 1 { behaviour.cutAfter = 100_000 }
            guard request.number == 2 else { return behaviour.script(for: request) }
            return [
                .head(status: 206, fields: [("ETag", "\"v7\""), ("Content-Range", "bytes 100000-499999/500000")]),
                .content(representation.content, 100_000..<300_000), .cut(reset: false),
            ]
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.restarts == [])
        #expect(result.bytesReceived == 500_000)
    }

    @Test func `without a strong validator every attempt starts over`() async throws {
        let weaker = Representation(seed: 7, size: 500_000, etag: "W/\"v7\"")
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(weaker)
            if request.number < 3 { behaviour.cutAfter = 100_000 }
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == weaker.content.bytes())
        #expect(origin.requests.allSatisfy { $0["range"] == nil })
        #expect(result.bytesReceived == 700_000)
    }

    @Test func `endless cuts end the transfer if nothing can be resumed`() async throws {
        let weaker = Representation(seed: 7, size: 500_000, etag: "")
        let origin = try ScriptedOrigin { request in
            var behaviour = Behaviour(weaker)
            behaviour.cutAfter = 1000 * Int64(request.number)
            return behaviour
        }
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(TransferRequest(testing: origin.url()), into: PartialSink())
        }
        #expect(error?.code == .cut)
        #expect(error?.attempts == 6)
    }

    @Test func `a body with a Content-Encoding is taken as it is and not resumed`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            behaviour.contentEncoding = "gzip"
            if request.number == 1 { behaviour.cutAfter = 100_000 }
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.head.fields[.contentEncoding] == "gzip")
        #expect(origin.requests.map { $0["range"] } == [nil, nil])
    }

    @Test func `an error status between two attempts keeps the held bytes`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            if request.number == 1 { behaviour.cutAfter = 300_000 }
            return (2...3).contains(request.number) ? .status(503) : behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.bytesReceived - 500_000 < 200)
        #expect(sink.begins == 2)
        #expect(origin.requests.last?["range"] == "bytes=300000-")
    }

    @Test func `a partial of another resource starts over, even if ETag and total are equal`() async throws {
        let mirror = try ScriptedOrigin(serving: representation)
        let sink = PartialSink(holding: [0..<100_000], of: representation, url: "http://elsewhere.example/a")
        let result = try await TransferEngine().run(TransferRequest(testing: mirror.url()), into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.restarts.first?.contains("another resource") == true)
        #expect(result.resumedFrom == 0)
    }
}
