import ConcurrencyPrimitives
import Foundation
import HTTPServer
import HTTPTypes
import TestSupport
import Testing

@testable import ImageProxy

@Suite("Traces")
struct TracingTests {
    private static let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test(
        arguments: [
            (sampled, true), ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff", true),
            ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-later-versions-add", true),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", nil),
            ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", nil),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", nil),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", nil),
            ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", nil),
            ("00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", nil), ("", nil), ("00", nil), ("0-0-0-0", nil),
        ] as [(String, Bool?)])
    func `a traceparent is read as W3C Trace Context specifies`(value: String, isSampled: Bool?) {
        let context = TraceContext(value)
        #expect(context?.isSampled == isSampled)
        if let context { #expect(TraceContext(context.text) == context) }
    }

    private func request(_ target: String = "/image/w=1/a.jpg?imgcache-sig=secret", _ traceParent: String? = nil)
        throws -> Request
    {
        var head = RequestHead(method: .get, target: .path(target))
        if let traceParent { head.fields[.traceParent] = traceParent }
        let client = ClientAddress("192.0.2.1")
        return Request(head: head, client: client, peer: client, content: [], id: "one", received: .now)
    }

    @Test func `the client's decision to trace is respected, and otherwise a share is traced`() throws {
        func exporter(_ share: Double) -> SpanExporter {
            var options = SpanExporter.Options()
            options.sampling = share
            return SpanExporter(options) { _ in
                true
            } counting: { _, _ in
            }
        }
        let unsampled = Self.sampled.dropLast(2) + "00"
        #expect(exporter(0).trace(of: try request("/", Self.sampled))?.id == "0af7651916cd43dd8448eb211c80319c")
        #expect(exporter(1).trace(of: try request("/", String(unsampled))) == nil)
        #expect(exporter(0).trace(of: try request()) == nil)
        let (one, other) = (exporter(1).trace(of: try request()), exporter(1).trace(of: try request("/", "nonsense")))
        #expect(one?.id.count == 32 && one?.id != other?.id)
    }

    @Test func `a trace message has the request and its steps, but no signature`() async throws {
        let messages = Locked<[[UInt8]]>([])
        let counts = Locked((sent: 0, dropped: 0))
        let exporter = SpanExporter(SpanExporter.Options()) { message in
            messages.withLock { $0.append(message) }
            return true
        } counting: { sent, dropped in
            counts.withLock { $0 = ($0.sent + sent, $0.dropped + dropped) }
        }
        var asked = try request("/image/w=1/a.jpg?imgcache-sig=secret", Self.sampled)
        let trace = try #require(exporter.trace(of: asked))
        asked.steps = trace
        trace.record([(.decode, .milliseconds(3)), (.encode, .milliseconds(2))])
        let (context, end) = trace.beginTransfer(host: "origin.example")
        end(200)
        exporter.end(RequestRecord(asked, status: 200, outcome: "miss", bytesSent: 10, duration: .milliseconds(9)))
        exporter.close()
        await exporter.run()
        #expect(counts.withLock { $0 } == (4, 0))
        let text = messages.withLock { $0.map { String(decoding: $0, as: UTF8.self) } }.joined()
        #expect(!text.contains("secret"))
        let spans = try TraceSpan.all(of: #require(messages.withLock { $0.first }))
        #expect(spans.map(\.name) == ["decode", "encode", "origin", "GET image"])
        #expect(spans.allSatisfy { $0.trace == trace.id })
        let root = try #require(spans.last)
        #expect(root.parent == "b7ad6b7169203331" && root.kind == 2)
        #expect(spans.dropLast().allSatisfy { $0.parent == root.id })
        #expect(context.span == spans[2].id && context.trace == trace.id && context.isSampled)
        for span in spans {
            #expect(span.start <= span.end)
            #expect(abs(Double(span.start) / 1e9 - Date().timeIntervalSince1970) < 3600)
        }
        #expect(spans[0].end == spans[1].start)
    }

    @Test func `traces that the collector refuses or that exceed the limit are dropped and counted`() async throws {
        let counts = Locked((sent: 0, dropped: 0))
        var options = SpanExporter.Options()
        (options.mostWaiting, options.batch, options.sampling) = (5, 2, 1)
        let exporter = SpanExporter(options) { _ in
            false
        } counting: { sent, dropped in
            counts.withLock { $0 = ($0.sent + sent, $0.dropped + dropped) }
        }
        for _ in 0..<8 {
            var asked = try request()
            asked.steps = exporter.trace(of: asked)
            exporter.end(RequestRecord(asked, status: 200))
        }
        #expect(counts.withLock { $0 } == (0, 3))
        exporter.close()
        await exporter.run()
        #expect(counts.withLock { $0 } == (0, 8))
    }

    @Test(arguments: [1, 2])
    func `a collector that does not answer delays the end only as long as allowed`(batch: Int) async throws {
        let (counts, sendings, answer) = (Locked((sent: 0, dropped: 0)), Locked(0), Promise<Bool>())
        var options = SpanExporter.Options()
        (options.batch, options.sampling) = (batch, 1)
        let exporter = SpanExporter(options) { _ in
            sendings.withLock { $0 += 1 }
            return await answer.value() ?? false
        } counting: { sent, dropped in
            counts.withLock { $0 = ($0.sent + sent, $0.dropped + dropped) }
        }
        for _ in 0..<4 {
            var asked = try request()
            asked.steps = exporter.trace(of: asked)
            exporter.end(RequestRecord(asked, status: 200))
        }
        await exporter.end(Task { await exporter.run() }, by: .now)
        #expect(counts.withLock { $0 } == (0, 4))
        #expect(sendings.withLock { $0 } <= 1)
    }

    @Test(arguments: [(200, false), (404, false), (503, true), (0, true)])
    func `the span of a request has the status that was sent, and none if the client has left`(
        status: Int, isFailure: Bool
    ) throws {
        let record = RequestRecord(try request(), status: status)
        let span = try #require(Trace(continuing: nil).finished(record).last)
        let sent = span.attributes.filter { $0.name == "http.response.status_code" }.map(\.value)
        #expect(sent == (status > 0 ? [.number(Int64(status))] : []))
        #expect(span.failed == isFailure)
    }

    @Test func `only a traced request records its steps, including failed ones`() throws {
        struct Failure: Error {}
        let trace = Trace(continuing: nil)
        #expect(RequestSteps.record(.lookUp) { 1 } == 1)
        RequestSteps.$recorder.withValue(trace) {
            #expect(RequestSteps.record(.lookUp) { 2 } == 2)
            #expect(throws: Failure.self) { try RequestSteps.record(.store) { () throws(Failure) in throw Failure() } }
        }
        let spans = trace.finished(RequestRecord(try request(), status: 200))
        #expect(spans.map(\.name) == ["look-up", "store", "GET image"])
        #expect(spans.map(\.failed) == [false, true, false])
    }
}
