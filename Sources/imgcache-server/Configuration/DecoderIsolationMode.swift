/// The process in which the service decodes images.
enum DecoderIsolationMode: String, Sendable, CaseIterable {
    /// Worker processes. If none is available, images fail.
    case on
    /// Worker processes. If none is available, the service's own process.
    case optional
    /// The service's own process.
    case off
}
