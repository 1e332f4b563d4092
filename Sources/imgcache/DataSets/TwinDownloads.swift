import ConcurrencyPrimitives
import Digests
import DownloadLists
import ImageCache

/// Downloads of a run to which the list gives the same digest: one of them is fetched, and its file is all of them's.
final class TwinDownloads: Sendable {
    private struct Twins {
        /// The file, when the one that is fetched has ended; `nil` in it: it failed.
        let file = Promise<CachedFile?>()
        var isBegun = false
    }

    private let twins: Locked<[Digest: Twins]>

    init(of downloads: [ListedDownload]) {
        var counts: [Digest: Int] = [:]
        for case let digest? in downloads.map(\.digest) where digest.algorithm.isCollisionResistant {
            counts[digest, default: 0] += 1
        }
        twins = Locked(counts.filter { $0.value > 1 }.mapValues { _ in Twins() })
    }

    /// Runs `work`, with the file that a twin has brought, if there is one.
    ///
    /// - Parameter work: Gives the file that it brought.
    func share(_ digest: Digest?, _ work: (CachedFile?) async throws -> CachedFile?) async throws {
        let (own, isFirst) = twins.withLock { twins -> (Twins?, Bool) in
            guard let digest, let own = twins[digest] else { return (nil, true) }
            twins[digest]?.isBegun = true
            return (own, !own.isBegun)
        }
        guard let own else { return _ = try await work(nil) }
        guard isFirst else { return _ = try await work(await own.file.value() ?? nil) }
        do {
            own.file.fulfill(try await work(nil))
        } catch {
            own.file.fulfill(nil)
            throw error
        }
    }
}
