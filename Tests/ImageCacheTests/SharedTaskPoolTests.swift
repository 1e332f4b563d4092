import Locking
import Testing

@testable import ImageCache

@Suite("A flight")
struct FlightTests {
    private let executor = BlockingExecutor(width: 2)

    /// A load that ends when it is told to, or when it is cancelled.
    private func heldLoad(_ gate: AsyncStream<Void>) -> @Sendable (Flight) async -> Flight.Outcome {
        { _ in
            for await _ in gate { return .failure(ImageCacheError(.notCached, message: "ended")) }
            return .failure(ImageCacheError(.cancelled, message: "stopped"))
        }
    }

    @Test("gives its outcome to everybody who joined, before and after it ended")
    func shares() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let flight = Flight { _ in }
        let first = try #require(flight.join())
        let second = try #require(flight.join())
        flight.start(on: executor, priority: nil, heldLoad(gate))
        async let one = first.outcome()
        async let two = second.outcome()
        open.yield()
        for outcome in await [one, two, first.outcome()] {
            #expect(throws: ImageCacheError.self) { try outcome.get() }
        }
    }

    @Test("ends one caller's wait at once when that caller is cancelled, and goes on for the others")
    func cancelOne() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let flight = Flight { _ in }
        let patient = try #require(flight.join())
        flight.start(on: executor, priority: nil, heldLoad(gate))
        let impatient = Task { [interest = try #require(flight.join())] in await interest.outcome() }
        impatient.cancel()
        guard case .failure(let error) = await impatient.value else { return #expect(Bool(false)) }
        #expect(error.code == .cancelled)
        open.yield()
        guard case .failure(let ended) = await patient.outcome() else { return #expect(Bool(false)) }
        #expect(ended.message == "ended")
    }

    @Test("is abandoned when the last interest is dropped, and cannot be joined any more")
    func abandoned() async throws {
        let (gate, _) = AsyncStream<Void>.makeStream()
        let abandoned = AsyncStream<Void>.makeStream()
        let flight = Flight { _ in abandoned.continuation.yield() }
        var interest = flight.join()
        flight.start(on: executor, priority: nil, heldLoad(gate))
        #expect(interest != nil)
        interest = nil
        for await _ in abandoned.stream { break }
        #expect(flight.join() == nil)
    }

    @Test("goes on when the threads that it runs on had no more to do")
    func outlivesItsCache() async throws {
        let executor = BlockingExecutor(width: 1)
        for _ in 1...3 {
            let (gate, open) = AsyncStream<Void>.makeStream()
            let flight = Flight { _ in }
            let interest = try #require(flight.join())
            flight.start(on: executor, priority: nil, heldLoad(gate))
            executor.close()
            open.yield()
            guard case .failure(let error) = await interest.outcome() else { return #expect(Bool(false)) }
            #expect(error.message == "ended")
        }
    }

    @Test("shows a slow watcher the newest progress only, and ends the watch with the load")
    func progress() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let flight = Flight { _ in }
        let interest = try #require(flight.join())
        let progress = interest.watch()
        flight.start(on: executor, priority: nil, heldLoad(gate))
        for count in 1...100 { flight.report { $0.received = Int64(count) } }
        open.yield()
        _ = await interest.outcome()
        var seen: [Int64] = []
        for await value in progress { seen.append(value.received) }
        #expect(seen == [100])
    }
}
