/// Where the service decodes images.
enum DecoderIsolationMode: String, Sendable, CaseIterable {
    /// In worker processes; while there are none, images fail.
    case on
    /// In worker processes; while there are none, in the service's own process.
    case optional
    /// In the service's own process.
    case off
}
