import Fleet
import ImageCache
import Logging

extension ServerConfiguration {
    /// The shared store, or nil if there is none. It is also nil, with a warning, if there are no credentials for it, because the service
    /// is useful without the store.
    func remoteStore(_ logger: Logger) -> RemoteStoreConfiguration? {
        guard let remote else { return nil }
        var store: RemoteStoreConfiguration
        do throws(RemoteConfigurationError) { store = try RemoteStoreConfiguration(remote) } catch {
            logger.warning(
                "nothing is shared with other machines", metadata: ["remote": "\(remote)", "reason": "\(error)"])
            return nil
        }
        store.sharesPrivateResponses = remotePrivate
        store.connectTimeout = remoteConnectTimeout
        store.firstByteTimeout = remoteTimeout
        store.invalidationInterval = remoteInvalidationInterval
        store.leaseTime = remoteLeaseTime
        store.maxUploads = remoteUploads
        store.maxWaitingUploads = remoteQueueLength
        store.maxWaitingBytes = remoteQueueBytes
        return store
    }
}
