import Fleet
import ImageCache
import Logging
import ProcessLimits

/// Divides the process's descriptors among the parts that may need many.
///
/// Otherwise many clients could leave no descriptors for the requests that are being served. These requests would fail, and libdispatch
/// would even terminate the process.
struct DescriptorShares: Equatable {
    /// The wanted or granted numbers.
    struct Counts: Equatable {
        /// Connections of clients.
        var connections: Int
        /// Connections to origins. One request may have several.
        var transfers: Int
        /// Concurrent look-ups in the shared store.
        var remoteReads = 0
    }

    let wanted: Counts
    let granted: Counts

    /// - Parameters:
    ///   - descriptors: The number of available descriptors.
    ///   - others: The number of descriptors of parts with their own limit.
    init(of descriptors: Int, wanted: Counts, maxRequests: Int, others: Int) {
        // For connections that are being refused or closed, listeners, the index, workers, and short-lived files of libraries.
        let reserve = 40 + descriptors / 10
        let left = max(0, descriptors - reserve - others)
        // Up to half of the descriptors for transfers and look-ups.
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
    /// The shares of this process's available descriptors.
    func descriptorShares(_ store: RemoteStoreConfiguration?, _ logger: Logger) -> DescriptorShares {
        var wanted = DescriptorShares.Counts(connections: maxConnections, transfers: maxOriginConnections)
        wanted.remoteReads = store?.maxReads ?? 0
        // Event loops have three descriptors each. A few parts of large bodies are read and uploaded at a time.
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
    /// Lowers the limits of connections to origins and to the store to their shares.
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
