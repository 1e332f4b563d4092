import ConcurrencyPrimitives
import FoundationEssentials
import Glibc
import ImageCache

/// A cache of its own for what the store cannot take: beside the place where the files go, under a hidden name that is the same in the
/// next run, so that such a download resumes by the same rules; for standard output in a temporary folder.
///
/// Opened when it is first needed, and deleted at the end of the run unless it holds something that can be continued, or another
/// run with the same target uses it: the last one deletes it.
final class SideCache: Sendable {
    /// nil: a temporary folder of this run's own.
    private let directory: String?
    private let open: @Sendable (_ directory: String) throws -> DownloadCache
    private let cache = Locked<DownloadCache?>(nil)
    private let shared = Locked<SharedDirectory?>(nil)
    /// Whether an earlier run left it behind.
    private let wasThere: Bool

    /// - Parameter directory: nil for a temporary folder.
    init(directory: String?, open: @escaping @Sendable (_ directory: String) throws -> DownloadCache) {
        self.directory = directory
        self.open = open
        wasThere = directory.map { access($0, F_OK) == 0 } ?? false
    }

    func opened() throws -> DownloadCache {
        try cache.withLock { cache in
            if let cache { return cache }
            if let directory {
                let directory = try SharedDirectory(directory)
                shared.withLock { $0 = directory }
            }
            guard let directory = directory ?? Self.temporaryDirectory() else {
                throw Failure(.store, "cannot make a temporary folder: \(errorText(errno))")
            }
            let opened = try open(directory)
            cache = opened
            return opened
        }
    }

    /// The cache, if an earlier run has left something of the request in it.
    func begun(_ request: FileRequest) -> DownloadCache? {
        guard wasThere, let cache = try? opened(), let info = try? cache.blocking.info(for: request),
            info.partial != nil || !info.entries.isEmpty
        else { return nil }
        return cache
    }

    func cancelAll() { cache.withLock { $0 }?.cancelAll() }

    func close() async {
        guard let cache = cache.withLock({ $0 }) else { return }
        let shared = self.shared.withLock { $0.take() }
        // Before it is looked into: what another run begins there is then seen, or it waits.
        let isLast = shared?.release() ?? true
        defer { withExtendedLifetime(shared) {} }
        let statistics = try? cache.blocking.statistics()
        let isEmpty = statistics.map { $0.partials == 0 && $0.entries == 0 } ?? false
        guard isLast && isEmpty || directory == nil else { return await cache.close() }
        do {
            try await cache.closeAndDelete()
        } catch {
            Output.warning("\(cache.directory): cannot be deleted: \(error)".forTerminal)
        }
    }

    /// A fresh folder that only this user can enter.
    private static func temporaryDirectory() -> String? {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/imgcache-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, mkdtemp(start) != nil else { return nil }
            return String(cString: start)
        }
    }
}
