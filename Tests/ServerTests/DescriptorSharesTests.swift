import ImageCache
import ProcessLimits
import Testing

@testable import imgcache_server

struct DescriptorSharesTests {
    private func shares(
        of descriptors: Int, reads: Int = 0, requests: Int = 1024, others: Int = 12
    ) -> DescriptorShares {
        let wanted = DescriptorShares.Counts(connections: 8192, transfers: 64, remoteReads: reads)
        return DescriptorShares(of: descriptors, wanted: wanted, maxRequests: requests, others: others)
    }

    @Test func `the shares of all limits fit into the file descriptors`() {
        for descriptors in [0, 30, 64, 80, 100, 200, 500, 1024, 4096, 20_000, 65_536, 1_000_000] {
            for (requests, reads) in [(1, 0), (16, 64), (1024, 0), (1024, 64)] {
                let granted = shares(of: descriptors, reads: reads, requests: requests).granted
                #expect(granted.connections >= 1 && granted.transfers >= 1 && (granted.remoteReads >= 1 || reads == 0))
                #expect(granted.connections <= 8192 && granted.transfers <= 64 && granted.remoteReads <= reads)
                guard granted.connections > 1 else { continue }
                let open =
                    granted.connections + 3 * min(granted.connections, requests) + granted.transfers
                    + granted.remoteReads + 12 + 40 + descriptors / 10
                #expect(open <= descriptors, "\(descriptors): \(granted)")
            }
        }
    }

    @Test func `with enough file descriptors, all limits are as configured`() {
        let shares = shares(of: 65_536, reads: 64)
        #expect(shares.granted == shares.wanted)
    }

    @Test func `each connection beyond the number of requests needs one descriptor`() {
        let few = shares(of: 5000, requests: 100).granted.connections
        #expect(shares(of: 6000, requests: 100).granted.connections - few == 900)
    }

    @Test func `the cache has no more connections than its share`() throws {
        var configuration = DownloadCache.Configuration()
        (configuration.maxTransfers, configuration.maxTransfersPerHost) = (1024, 64)
        configuration.maxTransfersPerClient = 16
        configuration.limit(to: shares(of: 65_536))
        #expect(configuration.maxTransfers == 1024 && configuration.maxTransfersPerHost == 64)
        let few = shares(of: 100)
        configuration.limit(to: few)
        #expect(few.granted.transfers < 64)
        #expect(
            configuration.maxTransfers == few.granted.transfers
                && configuration.maxTransfersPerHost == few.granted.transfers)
        #expect(configuration.maxTransfersPerClient == max(1, few.granted.transfers / 4))
        #expect(configuration.maxIdleConnections == few.granted.transfers)
    }

    @Test func `the open file descriptors are counted`() { #expect(DescriptorLimit.used > 2) }
}
