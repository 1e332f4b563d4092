import Fleet
import ImageCache

extension Setting {
    /// The settings of the shared store.
    static let remote: [Setting] = [
        text(
            "remote", "s3://BUCKET/PREFIX", \.remote,
            "An S3-compatible store that is shared with other machines: looked into before the origin is asked. Endpoint, region and keys come from the variables and files of AWS's tools."
        ) { locationProblem($0) },
        flag(
            "remote-private", \.remotePrivate,
            "Share also what is stored for an Authorization field, or of an origin that has keys: with those who have the same. Nothing of other credentials or cookies is shared."
        ),
        time(
            "remote-connect-timeout", \.remoteConnectTimeout,
            "The time to resolve, connect to the shared store and complete the TLS handshake."),
        time(
            "remote-timeout", \.remoteTimeout,
            "The time without a byte from the shared store; the origin is then asked, and the store left alone for a while."
        ),
        time(
            "remote-invalidation-interval", \.remoteInvalidationInterval,
            "The time within which an invalidation by another machine ends what this one has on its disk and in memory."
        ),
        time(
            "remote-lease-time", \.remoteLeaseTime,
            "The time for which other machines wait for the one that asks the origin for a URL, unless it says that it still does."
        ),
        count("remote-uploads", \.remoteUploads, 1...64, "The number of concurrent uploads to the shared store."),
        count(
            "remote-queue-length", \.remoteQueueLength, 1...100_000,
            "The number of waiting uploads, each with its file open; the oldest are dropped."),
        bytes(
            "remote-queue-bytes", \.remoteQueueBytes, atLeast: 0,
            "The size of all waiting uploads; the oldest are dropped."),
    ]

    /// Returns the problem with a store's location, or nil if there is none.
    private static func locationProblem(_ text: String) -> String? {
        do throws(RemoteConfigurationError) {
            _ = try S3Location(text)
            return nil
        } catch {
            return "cannot be used: \(error)"
        }
    }
}
