import Digests
import RemoteStore

/// The invalidations of a resource in the fleet as a machine knows them at one time.
struct RemoteEpoch: Sendable, Hashable {
    static let size = 16

    /// The resource's own.
    var generation: RemoteGeneration
    /// The place in the log to which those of many URLs are known; nil: there is no log.
    var position: RemoteLogPosition?
    /// The place of the last one of many URLs that includes this one; nil: there is none.
    var scope: RemoteLogPosition?

    /// True if an object's response was requested after all of them.
    ///
    /// - Parameter stamp: The object's; nil: it has none.
    func allows(_ stamp: RemoteStamp?) -> Bool {
        guard generation.allows(stamp?.generation ?? .first) else { return false }
        return scope.map { stamp?.position?.reaches($0) ?? false } ?? true
    }

    /// Equal for machines that know the same invalidations.
    var digest: [UInt8] {
        var writer = FieldWriter()
        writer.write(scope?.number ?? 0)
        return Array(ShortSHA256.digest(of: generation.bytes + writer.bytes).prefix(Self.size))
    }
}
