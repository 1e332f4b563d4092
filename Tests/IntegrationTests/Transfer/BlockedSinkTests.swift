import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing
import Transfer

/// A sink that waits for its disk, or for another process, holds up its own transfer, and no other one of the engine.
@Suite(.fewAtATime) struct BlockedSinkTests {
    /// The size of a body that is longer than what a transfer holds for its sink.
    private static let longSize: Int64 = 4 << 20

    private let representation = Representation(seed: 71, size: 300_000)

    enum Call: CaseIterable {
        case attach, held, begin, write, writeBatchComplete, end, canRestart
    }

    /// A sink that blocks its thread in the first of certain calls.
    private final class BlockedSink: BodySink {
        private let call: Call
        private let base: PartialSink
        private let release = CountingSemaphore(0)
        private let state = Locked((isBlocked: false, hasBlocked: false))

        init(_ call: Call, _ base: PartialSink = PartialSink()) {
            self.call = call
            self.base = base
        }

        var isBlocked: Bool { state.withLock { $0.isBlocked } }

        func goOn() { release.signal() }

        private func block(in call: Call) {
            let blocks = state.withLock { state in
                guard call == self.call, !state.hasBlocked else { return false }
                state = (true, true)
                return true
            }
            guard blocks else { return }
            release.wait()
            state.withLock { $0.isBlocked = false }
        }

        func attach(_ transfer: any TransferControl) {
            block(in: .attach)
            base.attach(transfer)
        }

        func held() -> HeldPartial? {
            block(in: .held)
            return base.held()
        }

        func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
            block(in: .begin)
            try base.begin(head, placement)
        }

        func write(_ bytes: UnsafeRawBufferPointer) throws -> WriteResult {
            block(in: .write)
            return try base.write(bytes)
        }

        func writeBatchComplete() { block(in: .writeBatchComplete) }

        func end(_ ending: AttemptEnding) throws {
            block(in: .end)
            try base.end(ending)
        }

        func canRestart() -> Bool {
            block(in: .canRestart)
            return base.canRestart()
        }
    }

    /// Runs a transfer on a thread that its sink may block.
    private func start(
        _ engine: TransferEngine, _ url: String, into sink: any BodySink
    ) -> Task<TransferResult, any Error> {
        Task(executorPreference: BlockingExecutor(width: 1)) {
            try await engine.run(TransferRequest(testing: url), into: sink)
        }
    }

    /// A transfer of the long body whose sink blocks.
    private struct BlockedTransfer {
        let origin: ScriptedOrigin
        let engine: TransferEngine
        let target: PartialSink
        let blocked: BlockedSink
        let run: Task<TransferResult, any Error>
    }

    private func blockedTransfer(in call: Call) async throws -> BlockedTransfer {
        let origin = try origin()
        let (engine, target) = (TransferEngine(), PartialSink())
        let blocked = BlockedSink(call, target)
        let run = start(engine, origin.url("/long"), into: blocked)
        #expect(await eventually { blocked.isBlocked })
        return BlockedTransfer(origin: origin, engine: engine, target: target, blocked: blocked, run: run)
    }

    /// The first attempt at `/cut` is cut, and one at `/long` sends a long body.
    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { [representation] request in
            if request.path == "/long" { return Behaviour(Representation(seed: 72, size: Self.longSize)) }
            var behaviour = Behaviour(representation)
            if request.path == "/cut", request["range"] == nil { behaviour.cutAfter = 100_000 }
            // Nothing comes for a while: what has come is given out.
            if request.path == "/slow", request["range"] == nil { behaviour.stallAfter = 100_000 }
            return behaviour
        }
    }

    @Test(arguments: Call.allCases)
    func `a transfer whose sink blocks in any call does not hold up another one`(_ call: Call) async throws {
        let origin = try origin()
        let engine = TransferEngine()
        let target = PartialSink()
        let blocked = BlockedSink(call, target)
        let path = call == .canRestart ? "/cut" : call == .writeBatchComplete ? "/slow" : "/file"
        let first = start(engine, origin.url(path), into: blocked)
        #expect(await eventually { blocked.isBlocked })
        let other = PartialSink()
        let second = start(engine, origin.url("/other"), into: other)
        #expect(await eventually(within: patience / 6) { other.calls.last == .end(.complete) })
        #expect(other.bytes == representation.content.bytes())
        #expect(blocked.isBlocked)
        blocked.goOn()
        #expect(try await second.value.outcome == .body)
        if call == .writeBatchComplete { first.cancel() }
        _ = await first.result
        if call != .writeBatchComplete { #expect(target.bytes == representation.content.bytes()) }
        await engine.shutDown()
    }

    @Test func `a body that comes faster than its sink takes it waits, and nothing of it is lost`() async throws {
        let transfer = try await blockedTransfer(in: .begin)
        // The engine holds a part of the body, and the origin waits with the rest.
        #expect(await eventually { transfer.engine.totals.bytesReceived >= 1 << 20 })
        #expect(transfer.engine.totals.bytesReceived <= 3 << 19)
        transfer.blocked.goOn()
        #expect(try await transfer.run.value.bytesReceived == Self.longSize)
        #expect(transfer.target.bytes == Content(seed: 72, size: Self.longSize).bytes())
        await transfer.engine.shutDown()
    }

    @Test(arguments: [Call.begin, .write])
    func `a transfer that is cancelled while its sink blocks delivers the received bytes and ends once`(
        _ call: Call
    ) async throws {
        let transfer = try await blockedTransfer(in: call)
        #expect(await eventually { transfer.engine.totals.bytesReceived >= 1 << 20 })
        transfer.run.cancel()
        transfer.blocked.goOn()
        let outcome = await transfer.run.result
        #expect(throws: TransferError.self) { try outcome.get() }
        let target = transfer.target
        #expect(target.calls == [.held, .begin(.whole(length: Self.longSize)), .end(.cut)])
        #expect(target.bytes.count >= 1 << 20)
        #expect(target.bytes == Content(seed: 72, size: Self.longSize).bytes(0..<Int64(target.bytes.count)))
        await transfer.engine.shutDown()
    }

    @Test func `an engine that is shut down while a sink blocks ends its transfer when the sink returns`() async throws
    {
        let transfer = try await blockedTransfer(in: .begin)
        let stop = Task { await transfer.engine.shutDown() }
        transfer.blocked.goOn()
        await stop.value
        let outcome = await transfer.run.result
        #expect(throws: TransferError.self) { try outcome.get() }
        #expect(transfer.target.calls == [.held, .begin(.whole(length: Self.longSize)), .end(.cut)])
    }
}
