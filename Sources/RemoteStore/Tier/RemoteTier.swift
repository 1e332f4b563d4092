/// A store of immutable objects that several machines share.
///
/// Every call ends within the store's time limits, and reports a failure as a typed error. The caller then continues without the store.
package protocol RemoteTier: Sendable {
    /// Returns the object under a key, or nil if there is none.
    ///
    /// The bytes are verified: an object whose SHA-256 differs from the stored one is reported as ``RemoteError/damaged(_:)``. There are no
    /// ranges, because the digest of the whole cannot verify a part.
    func get(_ key: String) async throws(RemoteError) -> [UInt8]?

    /// Returns the object under a key, with its tag and the store's times, unless its tag is the known one. The bytes are verified as in
    /// ``get(_:)``.
    func read(_ key: String, unless tag: String?) async throws(RemoteError) -> RemoteReading

    /// Returns the length in bytes of the object under a key, or nil if there is none.
    func head(_ key: String) async throws(RemoteError) -> Int64?

    /// Stores an object.
    ///
    /// - Returns: False if the condition was not met.
    func put(_ bytes: [UInt8], at key: String, _ condition: RemoteCondition) async throws(RemoteError) -> Bool

    /// Deletes the object under a key, if there is one.
    func delete(_ key: String) async throws(RemoteError)

    /// Lists the objects whose keys begin with a prefix, in key order, at most 1000. An empty result means that there are no more.
    ///
    /// - Parameter after: The key after which the list begins, or nil to begin with the first one.
    func list(_ prefix: String, after: String?) async throws(RemoteError) -> [RemoteListing]

    /// The expiry rules of the bucket.
    func lifecycle() async throws(RemoteError) -> LifecycleRules

    /// Replaces the expiry rules of the bucket.
    func setLifecycle(_ rules: LifecycleRules) async throws(RemoteError)
}

/// The condition under which an object is stored.
package enum RemoteCondition: Sendable, Hashable {
    /// No condition: an existing object is replaced.
    case none
    /// The object must not exist. Some stores ignore this condition.
    case ifAbsent
}

/// A failure of a remote store.
package enum RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There was no response, for this reason.
    case unreachable(String)
    /// There was no response within the time limit.
    case timeout(String)
    /// A response with an error status, and the code in its body (`AccessDenied`), if any.
    case status(Int, code: String?)
    /// The object differs from the one that was stored, for this reason.
    case damaged(String)
    /// The object is longer than the limit of this machine. Another machine may have a higher limit.
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
