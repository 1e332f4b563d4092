extension RemoteError {
    /// A failure that persists until the settings change.
    package enum Rejection: Sendable, Hashable {
        case credentials
        case noBucket
    }

    /// The error in the settings that the store reports, or nil for any other failure.
    package var rejection: Rejection? {
        guard case .status(let status, let code) = self else { return nil }
        switch (status, code) {
        case (404, "NoSuchBucket"): return .noBucket
        // The clocks differ, which other credentials would not fix.
        case (403, "RequestTimeTooSkewed"): return nil
        case (401, _), (403, _): return .credentials
        default: return nil
        }
    }
}
