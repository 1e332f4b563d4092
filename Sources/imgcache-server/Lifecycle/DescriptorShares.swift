import ImageCache
import Logging
import ProcessLimits

/// The division of the process's descriptors among what may need many.
///
/// Without it, a crowd of clients could leave none for the requests of those who are served, which would fail; libdispatch would even end the
/// process.
struct DescriptorShares: Equatable {
    /// Wishes, and what becomes of them.
    struct Counts: Equatable {
        /// Connections of clients.
        var connections: Int
        /// Connections to origins: one request may have several.
        var transfers: Int
        /// Look-ups in the shared store at once.
        var remoteReads = 0
    }

    let wanted: Counts
    let granted: Counts

    /// - Parameters:
    ///   - descriptors: Those that are left.
    ///   - others: The number of those that have a limit of their own.
    init(of descriptors: Int, wanted: Counts, maxRequests: Int, others: Int) {
        // Connections that are refused or being closed, listeners, the index, workers, and what libraries open for a moment.
        let reserve = 40 + descriptors / 10
        let left = max(0, descriptors - reserve - others)
        // Up to a half for those.
        let wish = max(1, wanted.transfers + wanted.remoteReads)
        let given = min(wish, left / 2)
        var granted = wanted
        if given < wish {
            granted.transfers = max(1, wanted.transfers * given / wish)
            granted.remoteReads = wanted.remoteReads == 0 ? 0 : max(1, wanted.remoteReads * given / wish)
        }
        // The two files of a download, and a stored body.
        let perRequest = 3
        let rest = left - given
        let shared = rest / (1 + perRequest)
        granted.connections = max(
            1, min(wanted.connections, shared < maxRequests ? shared : rest - perRequest * maxRequests))
        self.wanted = wanted
        self.granted = granted
    }
}

extension ServerConfiguration {
    /// The shares of what this process has left.
    func descriptorShares(_ store: RemoteStoreConfiguration?, _ logger: Logger) -> DescriptorShares {
        var wanted = DescriptorShares.Counts(connections: maxConnections, transfers: maxOriginConnections)
        wanted.remoteReads = store?.maxReads ?? 0
        // Event loops have three each; parts of large bodies are read and uploaded a few at a time.
        let others = 3 * threads + (store.map { $0.maxUploads + RemoteStoreConfiguration.maxPartReads } ?? 0)
        let descriptors = DescriptorLimit.current
        let shares = DescriptorShares(
            of: descriptors - DescriptorLimit.used, wanted: wanted, maxRequests: maxRequests, others: others)
        if shares.granted != wanted {
            logger.warning(
                "fewer connections than configured: the limit of open files is low (ulimit -n, LimitNOFILE)",
                metadata: [
                    "files": "\(descriptors)", "connections": "\(shares.granted.connections)",
                    "configured": "\(wanted.connections)", "origin-connections": "\(shares.granted.transfers)",
                ])
        }
        return shares
    }
}

extension DownloadCache.Configuration {
    /// Has no more connections to origins and to the store than the shares say.
    mutating func limit(to shares: DescriptorShares) {
        remote?.maxReads = shares.granted.remoteReads
        let most = shares.granted.transfers
        guard most < shares.wanted.transfers else { return }
        maxTransfers = most
        maxTransfersPerHost = min(maxTransfersPerHost, most)
        maxTransfersPerClient = maxTransfersPerClient.map { min($0, max(1, most / 4)) }
        maxIdleConnections = most
    }
}
