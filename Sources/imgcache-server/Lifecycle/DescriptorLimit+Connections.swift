import ProcessLimits

extension DescriptorLimit {
    /// Has libdispatch open what the clocks' timers need, once: it ends the process if it cannot, which later a crowd of clients might see to.
    static func openTimers() async {
        async let continuous: Void? = try? Task.sleep(for: .milliseconds(10), clock: .continuous)
        async let suspending: Void? = try? Task.sleep(for: .milliseconds(10), clock: .suspending)
        _ = await (continuous, suspending)
    }

    /// The number of connections that so many descriptors are enough for, at least one.
    ///
    /// A connection has one, and its request up to four more: the origin's connection, the two files of a download and the stored body. Event
    /// loops have three each; a tenth, and 28, are left for connections that are refused, listeners, the index, workers, and what libraries
    /// open for a moment.
    static func connections(within descriptors: Int, eventLoops: Int, maxRequests: Int) -> Int {
        let perRequest = 4
        let left = descriptors - 3 * eventLoops - 28 - descriptors / 10
        let shared = left / (1 + perRequest)
        return max(1, shared < maxRequests ? shared : left - perRequest * maxRequests)
    }
}
