extension RemoteError {
    /// A failure that only a change of the settings mends.
    package enum Refusal: Sendable, Hashable {
        case credentials
        case noBucket
    }

    /// The mistake in the settings that the store tells of; nil: another failure.
    package var refusal: Refusal? {
        guard case .status(let status, let code) = self else { return nil }
        switch (status, code) {
        case (404, "NoSuchBucket"): return .noBucket
        // The clocks are apart, which no other keys would mend.
        case (403, "RequestTimeTooSkewed"): return nil
        case (401, _), (403, _): return .credentials
        default: return nil
        }
    }
}
