import ProcessLimits
import Testing

@testable import imgcache

struct DescriptorLimitTests {
    @Test func `the limit on transfers fits into the file descriptors`() {
        for descriptors in [0, 16, 40, 64, 256, 1024, 1_000_000] {
            let most = DescriptorLimit.transfers(within: descriptors)
            #expect(most == 1 || most * 4 + 32 <= descriptors, "\(descriptors)")
            #expect(most >= 1)
        }
        #expect(DescriptorLimit.transfers(within: 1024) > 100)
    }
}
