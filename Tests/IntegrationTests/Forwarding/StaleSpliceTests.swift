import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import ImageCache
import TestSupport
import Testing

/// A body that is cut, where something stale is stored that would be served instead.
@Suite(.timeLimit) struct StaleSpliceTests: ForwardingSuite {
    let proxy: ProxyCache

    init() throws { proxy = try ProxyCache() }

    /// Sends a file of `o`, and to the next request, when that is stale, 140 bytes of a file of `n`, the rest of which never
    /// comes.
    private func origin(_ gate: Gate) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            func head(_ size: Int) -> OriginStep {
                .head(status: 200, fields: [("Content-Length", "\(size)"), ("Cache-Control", "max-age=1")])
            }
            if request.number == 1 { return [head(5000), .body([UInt8](repeating: 0x6F, count: 5000))] }
            // Little by little: who begins to follow later sees the rest of it with the next byte.
            let drops = (0..<100).flatMap { _ in [OriginStep.body([0x6E]), .pause(milliseconds: 20)] }
            let end: [OriginStep] = [.wait(for: gate), .cut(reset: false)]
            return [head(500), .body([UInt8](repeating: 0x6E, count: 40))] + drops + end
        }
    }

    @Test func `the client of a proxy does not get the new file's beginning and the stale one's rest`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        #expect(try await cache.forward(request(origin.url())).bytes().count == 5000)
        clock.withLock { $0 += 100 }
        let answer = try await cache.forward(request(origin.url()))
        var received: [UInt8] = []
        await #expect(throws: ImageCacheError.self) {
            for try await piece in try #require(answer.body) {
                received += try piece.bytes()
                gate.open()
            }
        }
        #expect(received.allSatisfy { $0 == 0x6E } && received.count <= 140)
        // Nothing was given out yet: then the stale file is one.
        let next = try await cache.file(for: request(origin.url()))
        #expect(try Data(contentsOf: URL(filePath: next.path)) == Data(repeating: 0x6F, count: 5000))
    }

    @Test func `a descriptor does not get the new file's beginning and the stale one's rest`() async throws {
        let gate = Gate()
        let origin = try origin(gate)
        _ = try await cache.file(for: request(origin.url()))
        clock.withLock { $0 += 100 }
        var request = request(origin.url())
        request.transfer.retry.maxRetries = 0
        let path = directory.path("output")
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let download = cache.download(request)
        let opener = Task {
            while !gate.isOpen {
                if let size = try? Data(contentsOf: URL(filePath: path)).count, size >= 40 { gate.open() }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        await #expect(throws: ImageCacheError.self) { _ = try await download.copy(toDescriptor: descriptor) }
        opener.cancel()
        let written = try Data(contentsOf: URL(filePath: path))
        #expect(written.allSatisfy { $0 == 0x6E } && (40...140).contains(written.count), "\(written.count)")
    }
}
