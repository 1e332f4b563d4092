import ProcessLimits

extension DescriptorLimit {
    /// The number of concurrent transfers that so many descriptors are enough for, at least one.
    ///
    /// A transfer has up to four: a connection, the two files of a download, and the stored or exported file. The standard streams, the index, locks,
    /// timers and workers have up to 32.
    static func transfers(within descriptors: Int = current) -> Int { max(1, (descriptors - 32) / 4) }
}
