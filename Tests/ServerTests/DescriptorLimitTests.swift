import ProcessLimits
import Testing

@testable import imgcache_server

struct DescriptorLimitTests {
    @Test func `connections and their requests fit into the descriptors`() {
        for descriptors in [0, 30, 64, 100, 500, 1024, 4096, 20_000, 65_536, 1_000_000] {
            for requests in [1, 16, 1024] {
                let most = DescriptorLimit.connections(within: descriptors, eventLoops: 4, maxRequests: requests)
                #expect(most >= 1)
                guard most > 1 else { continue }
                #expect(most + 4 * min(most, requests) + 12 + 28 + descriptors / 10 <= descriptors, "\(descriptors)")
            }
        }
    }

    @Test func `connections beyond the number of requests need one each`() {
        let few = DescriptorLimit.connections(within: 20_000, eventLoops: 2, maxRequests: 100)
        let more = DescriptorLimit.connections(within: 30_000, eventLoops: 2, maxRequests: 100)
        #expect(more - few == 9000)
    }

    @Test func `what is open is counted`() { #expect(DescriptorLimit.used > 2) }
}
