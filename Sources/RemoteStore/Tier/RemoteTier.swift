/// A store of immutable objects that several machines share.
///
/// Every call ends within the store's limits of time, and reports a failure as a value: the caller goes on without the store.
package protocol RemoteTier: Sendable {
    /// The object under a key; nil: there is none.
    ///
    /// Its bytes are those that were put: an object with another SHA-256 than the one that it was stored with is
    /// ``RemoteError/damaged(_:)``. There are no ranges, because a part cannot be verified by the digest of the whole.
    func get(_ key: String) async throws(RemoteError) -> [UInt8]?

    /// The object under a key, with its tag and the store's times, unless it is the one with a tag that is known. Verified as by ``get(_:)``.
    func read(_ key: String, unless tag: String?) async throws(RemoteError) -> RemoteReading

    /// The length of the object under a key in bytes; nil: there is none.
    func head(_ key: String) async throws(RemoteError) -> Int64?

    /// Stores an object.
    ///
    /// - Returns: False if the condition was not met.
    func put(_ bytes: [UInt8], at key: String, _ condition: RemoteCondition) async throws(RemoteError) -> Bool

    /// Deletes the object under a key, if there is one.
    func delete(_ key: String) async throws(RemoteError)

    /// The objects whose keys begin with a prefix, in the order of their keys, at most 1000; none: there are no more.
    ///
    /// - Parameter after: The key behind which the list begins; nil: at the first one.
    func list(_ prefix: String, after: String?) async throws(RemoteError) -> [RemoteListing]

    /// The rules of the bucket by which objects expire.
    func lifecycle() async throws(RemoteError) -> LifecycleRules

    /// Replaces the rules of the bucket by which objects expire.
    func setLifecycle(_ rules: LifecycleRules) async throws(RemoteError)
}

/// The condition under which an object is stored.
package enum RemoteCondition: Sendable, Hashable {
    /// In any case: the object replaces the one that is there.
    case none
    /// There is no object under the key. Some stores ignore it.
    case ifAbsent
}

/// A failure of a remote store.
package enum RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No response, for this reason.
    case unreachable(String)
    /// No response in time.
    case timeout(String)
    /// A response with an error status, and the code in its body (`AccessDenied`), if any.
    case status(Int, code: String?)
    /// The object is not the one that was stored, for this reason.
    case damaged(String)
    /// The object is longer than what is read here; another machine may have a higher limit.
    case tooLong
    /// The digests cannot be computed.
    case digestUnavailable
    case cancelled

    package var description: String {
        switch self {
        case .unreachable(let reason): reason
        case .timeout(let reason): reason
        case .status(let status, let code): "the store answered \(status)" + (code.map { " (\($0))" } ?? "")
        case .damaged(let reason): reason
        case .tooLong: "the object is too long"
        case .digestUnavailable: "libcrypto is not available"
        case .cancelled: "cancelled"
        }
    }
}
