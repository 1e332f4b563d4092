import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import ImageCache

/// A separate cache for files that the store cannot hold. It is next to the output, under a hidden name that is the same in the next run,
/// so that such a download is resumed by the same rules. For standard output it is in a temporary folder.
///
/// Opened on first use, and deleted at the end of the run unless it contains resumable downloads or another run with the same target uses
/// it. The last run deletes it.
final class FallbackCache: Sendable {
    /// `nil` for a temporary folder of this run.
    private let directory: String?
    private let open: @Sendable (_ directory: String) throws -> DownloadCache
    private let cache = Locked<DownloadCache?>(nil)
    /// Held while the cache is opened, which may wait for other processes. ``cancelAll()`` does not need it.
    private let opening = Locked(())
    private let shared = Locked<SharedDirectory?>(nil)
    /// True if an earlier run left the directory.
    private let existed: Bool

    /// - Parameter directory: nil for a temporary folder.
    init(directory: String?, open: @escaping @Sendable (_ directory: String) throws -> DownloadCache) {
        self.directory = directory
        self.open = open
        existed = directory.map { access($0, F_OK) == 0 } ?? false
    }

    func opened() throws -> DownloadCache {
        try opening.withLock { _ in
            if let cache = cache.withLock({ $0 }) { return cache }
            if let directory {
                let directory = try SharedDirectory(directory)
                shared.withLock { $0 = directory }
            }
            guard let directory = directory ?? Self.temporaryDirectory() else {
                throw Failure(.store, "cannot create a temporary directory: \(errorText(errno))")
            }
            let opened = try open(directory)
            cache.withLock { $0 = opened }
            return opened
        }
    }

    /// The cache, if an earlier run has started the request in it.
    func begun(_ request: FileRequest) -> DownloadCache? {
        guard existed, let cache = try? opened(), let info = try? cache.blocking.info(for: request),
            info.partial != nil || !info.entries.isEmpty
        else { return nil }
        return cache
    }

    func cancelAll() { cache.withLock { $0 }?.cancelAll() }

    func close() async {
        guard let cache = cache.withLock({ $0 }) else { return }
        let shared = self.shared.withLock { $0.take() }
        // Before its content is examined: another run either started before and is seen, or waits.
        let isLast = shared?.release() ?? true
        defer { withExtendedLifetime(shared) {} }
        let statistics = try? cache.blocking.statistics()
        let isEmpty = statistics.map { $0.partials == 0 && $0.entries == 0 } ?? false
        guard isLast && isEmpty || directory == nil else { return await cache.close() }
        do {
            try await cache.closeAndDelete()
        } catch {
            Output.warning("\(cache.directory): cannot be deleted: \(error)")
        }
    }

    /// A new folder that only this user can access.
    private static func temporaryDirectory() -> String? {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/imgcache-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, mkdtemp(start) != nil else { return nil }
            return String(cString: start)
        }
    }
}
