import ConcurrencyPrimitives
import Dispatch
import Foundation
import ImageCache
import TestSupport
import Testing

/// Another process on the directory, which here is another cache, fetches the same file.
@Suite(.fewAtATime) struct OtherProcessTests {
    private let directory: TestDirectory
    private let other: DownloadCache

    init() throws {
        directory = try TestDirectory()
        other = try DownloadCache(directory: directory.path("cache"))
    }

    /// The moments at which a fetch reads the clock, until its request is sent.
    @Test(arguments: 1...6)
    func `a file that another process stores at any moment before the request is not requested again`(
        _ moment: Int
    ) async throws {
        let representation = Representation(seed: 75, size: 50_000)
        let origin = try ScriptedOrigin { _ in Behaviour(representation) }
        let readings = Locked(0)
        let failure = Locked<String?>(nil)
        var configuration = DownloadCache.Configuration()
        configuration.now = { [other] in
            if readings.withLock({
                $0 += 1; return $0
            }) == moment {
                let isStored = DispatchSemaphore(value: 0)
                Task(executorPreference: BlockingExecutor(width: 1)) {
                    do { _ = try await other.file(for: .patient(origin.url())) } catch {
                        failure.withLock { $0 = "\(error)" }
                    }
                    isStored.signal()
                }
                // When the fetch has the lock, the other one waits for it. On a busy machine it may begin late.
                _ = isStored.wait(timeout: .now() + 4)
            }
            return Date()
        }
        let cache = try DownloadCache(directory: directory.path("cache"), configuration: configuration)
        let file = try await cache.file(for: .patient(origin.url()))
        #expect(representation.content.equalsFile(at: file.path))
        #expect(try await other.file(for: .patient(origin.url())).path == file.path)
        let requests = origin.requests.map { "\($0.request.method) \($0.status ?? 0) \($0.ending)" }
        #expect(requests.count == 1, "\(requests); the other process: \(failure.withLock { $0 } ?? "no error")")
    }
}
