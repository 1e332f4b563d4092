import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPSemantics
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache
@testable import Transfer

/// Sinks that pass a body on to another one.
@Suite struct SinkDecoratorTests {
    /// A member of `BodySink`.
    enum Member: CaseIterable {
        case attach, held, begin, write, writeBatchComplete, end, canRestart
        case segmentUnit, segmentLimit, writeAtOffset, heldBytes, verifyBody
    }

    /// A sink that records which of its members were called.
    final class RecordingSink: BodySink {
        private let state = Locked<Set<Member>>([])

        var calls: Set<Member> { state.withLock { $0 } }

        private func record(_ member: Member) { _ = state.withLock { $0.insert(member) } }

        func attach(_ transfer: any TransferControl) { record(.attach) }

        func held() -> HeldPartial? {
            record(.held)
            return HeldPartial(validator: .etag("\"1\""), total: 9, missing: [3..<9], url: Bench.url)
        }

        func begin(_ head: ResponseHead, _ placement: BodyPlacement) { record(.begin) }

        func write(_ bytes: UnsafeRawBufferPointer) -> WriteResult {
            record(.write)
            return .accepted
        }

        func writeBatchComplete() { record(.writeBatchComplete) }
        func end(_ ending: AttemptEnding) { record(.end) }

        func canRestart() -> Bool {
            record(.canRestart)
            return false
        }

        var segmentUnit: Int64? {
            record(.segmentUnit)
            return 4
        }

        var segmentLimit: Int64? {
            record(.segmentLimit)
            return 8
        }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) { record(.writeAtOffset) }

        func heldBytes(_ range: Range<Int64>) -> [UInt8]? {
            record(.heldBytes)
            return [1, 2, 3]
        }

        func verifyBody() throws {
            record(.verifyBody)
            throw BodyDefect.digest("a", expected: "b")
        }
    }

    private final class Control: TransferControl {
        func resume() {}
        func cancel() {}
        func prioritize(_ priority: TransferPriority) {}
    }

    private final class OpenGate: TransferGate {
        let addressPolicy = AddressPolicy.any
        func connectionLimit(for url: HTTPURL) -> Int? { nil }
        func admit(_ request: TransferRequest) async throws(TransferError) -> GateAdmission { GateAdmission(request) }
        func isOfOrigin(_ head: ResponseHead) -> Bool { true }
    }

    enum Decorator: CaseIterable {
        case observed, checking, segmented

        func sink(over inner: any BodySink) -> any BodySink {
            switch self {
            case .observed: ObservedSink(inner, OpenGate(), TransferRequest(url: Bench.url)) { _ in }
            case .checking: CheckingSink(inner, BodyIntegrity())
            case .segmented:
                SegmentedTransfer(
                    TransferRequest(url: Bench.url), into: inner, over: ScriptedTransport { _ in .failure() },
                    now: { MonotonicTime(nanoseconds: 0) }, events: { _ in })
            }
        }
    }

    static let pairs = Decorator.allCases.flatMap { one in
        Decorator.allCases.filter { $0 != one }.map { (one, $0) }
    }

    private static let head = ResponseHead(
        status: .ok, fields: [.eTag: "\"1\""], finalURL: Bench.url, requestTime: Date(), responseTime: Date())

    /// Calls every member, as transfers do, and checks what comes back.
    private func use(_ sink: any BodySink) throws {
        sink.attach(Control())
        #expect(sink.held()?.missing == [3..<9])
        #expect(!sink.canRestart())
        try sink.begin(Self.head, .whole(length: 16 << 20))
        try [UInt8]([1]).withUnsafeBytes { bytes in
            _ = try sink.write(bytes)
            try sink.write(bytes, at: 4)
        }
        sink.writeBatchComplete()
        #expect(sink.segmentLimit == 8)
        #expect(sink.heldBytes(0..<3) == [1, 2, 3])
        try sink.end(.complete)
        #expect(throws: BodyDefect.self) { try sink.verifyBody() }
    }

    @Test(arguments: Decorator.allCases)
    func `a decorator of a sink calls each of its members`(_ decorator: Decorator) throws {
        let recording = RecordingSink()
        let sink = decorator.sink(over: recording)
        try use(sink)
        // The divider of a body asks for its unit itself; the transport below it must not divide the body again.
        #expect(sink.segmentUnit == (decorator == .segmented ? nil : 4))
        #expect(recording.calls == Set(Member.allCases))
    }

    @Test(arguments: pairs)
    func `two decorators in any order forward to each member of a sink`(_ pair: (Decorator, Decorator)) throws {
        let recording = RecordingSink()
        let sink = pair.0.sink(over: pair.1.sink(over: recording))
        try use(sink)
        if pair.0 != .segmented, pair.1 != .segmented { #expect(sink.segmentUnit == 4) }
        #expect(recording.calls.isSuperset(of: Set(Member.allCases).subtracting([.segmentUnit])))
    }
}
