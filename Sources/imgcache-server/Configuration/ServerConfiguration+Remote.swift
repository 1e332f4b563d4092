import ImageCache
import Logging

extension ServerConfiguration {
    /// The store that is shared with other machines; nil without one, or, with a warning, without credentials for it: the service
    /// is of use without the store.
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
