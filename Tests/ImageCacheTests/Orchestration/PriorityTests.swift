import CacheTestSupport
import Foundation
import ImageCache
import ImageCacheTesting
import TestSupport
import Testing

/// A transfer is as urgent as the most urgent of those who wait for it.
@Suite(.timeLimit) struct PriorityTests {
    enum Consumer: Sendable, CaseIterable {
        case file, proxied, thumbnail

        func get(_ bench: Bench, _ priority: TransferPriority) async throws {
            let request = bench.request { $0.priority = priority }
            switch self {
            case .file: _ = try await bench.cache.file(for: request)
            case .proxied: _ = try await Bench.body(of: try await bench.cache.forward(request))
            case .thumbnail:
                var image = ImageRequest(Bench.url, .fit(4, 4))
                image.file = request
                _ = try await bench.cache.thumbnail(for: image, as: .png())
            }
        }
    }

    static let raises: [(TransferPriority, TransferPriority)] = [
        (.background, .normal), (.background, .high), (.normal, .high),
    ]
    private let gate = AsyncGate()

    private func bench() throws -> Bench {
        let picture = try Bench.picture()
        return try Bench { [gate] in ScriptedRepresentation(picture).response(to: $0).after(gate) }
    }

    @Test(arguments: Consumer.allCases, TransferPriority.allCases)
    func `a transfer begins with its request's priority`(_ consumer: Consumer, _ priority: TransferPriority)
        async throws
    {
        let bench = try bench()
        gate.open()
        try await consumer.get(bench, priority)
        #expect(bench.transport.requests.map(\.priority) == [priority])
    }

    @Test func `a joining read of a range raises the priority of all requests for its blocks`() async throws {
        let block = 262_144
        let representation = ScriptedRepresentation(ScriptedRepresentation.bytes(20 * block))
        let bench = try Bench { [gate] request in
            let response = representation.response(to: request)
            return request.number == 1 ? response : response.after(gate)
        }
        @Sendable func read(_ range: Range<Int>, _ priority: TransferPriority) async throws {
            _ = try await bench.cache.response(
                for: bench.request { request in
                    request.fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
                    request.priority = priority
                })
        }
        try await read(5 * block..<5 * block + 9, .background)
        // The blocks before and after the one that is stored are two requests.
        let first = Task { try await read(4 * block..<7 * block, .background) }
        await bench.transport.requests { $0.count == 3 }
        #expect(bench.transport.requests.allSatisfy { $0.priority == .background })
        let second = Task { try await read(4 * block..<7 * block, .high) }
        await bench.transport.requests { $0.dropFirst().allSatisfy { $0.priority == .high } }
        gate.open()
        try await first.value
        try await second.value
        #expect(bench.sent.count == 3)
    }

    @Test(arguments: Consumer.allCases, Consumer.allCases)
    func `a joining request raises the transfer's priority`(_ first: Consumer, _ second: Consumer) async throws {
        for (low, high) in Self.raises {
            gate.close()
            let bench = try bench()
            async let one: Void = first.get(bench, low)
            await bench.transport.requests { !$0.isEmpty }
            async let two: Void = second.get(bench, high)
            await bench.transport.requests { $0.first?.priority == high }
            gate.open()
            try await one
            try await two
            #expect(bench.sent.count == 1)
        }
    }

    @Test func `a joining request does not lower the transfer's priority`() async throws {
        let bench = try bench()
        async let first: Void = Consumer.file.get(bench, .high)
        await bench.transport.requests { !$0.isEmpty }
        let second = bench.cache.download(bench.request { $0.priority = .background })
        #expect(bench.transport.requests.first?.priority == .high)
        gate.open()
        try await first
        _ = try await second.file
        #expect(bench.transport.requests.map(\.priority) == [.high])
    }
}
