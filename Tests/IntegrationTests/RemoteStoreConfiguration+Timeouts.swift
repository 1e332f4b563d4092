import Fleet
import ImageCache

extension RemoteStoreConfiguration {
    /// Gives the store so much time for each step of a read, for it is on the same busy computer as everything else.
    mutating func setReadTimeouts(_ time: Duration) {
        connectTimeout = time
        firstByteTimeout = time
        readTimeout = time
        slowResponse = time
    }
}
