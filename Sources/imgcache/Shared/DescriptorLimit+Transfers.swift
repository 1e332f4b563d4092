import ProcessLimits

extension DescriptorLimit {
    /// The number of concurrent transfers for which the descriptors are sufficient, at least one.
    ///
    /// A transfer uses up to four: a connection, the two files of a download, and the stored or exported file. The standard streams, the
    /// index, locks, timers and workers use up to 32.
    static func transfers(within descriptors: Int = current) -> Int { max(1, (descriptors - 32) / 4) }
}
