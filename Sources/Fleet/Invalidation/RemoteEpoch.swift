import Digests
import ImageCache
import RemoteStore

/// The invalidations of a resource that a machine knows at one time.
struct RemoteEpoch: Sendable, Hashable {
    static let size = 16

    /// The generation of the resource.
    var generation: RemoteGeneration
    /// The position in the log up to which invalidations of several resources are known; nil if there is no log.
    var position: RemoteLogPosition?
    /// The position of the last invalidation of several resources that includes this one; nil if there is none.
    var scope: RemoteLogPosition?

    /// True if an object's response was requested after all these invalidations.
    ///
    /// - Parameter stamp: The stamp of the object; nil if it has none.
    func allows(_ stamp: RemoteStamp?) -> Bool {
        guard generation.allows(stamp?.generation ?? .first) else { return false }
        return scope.map { stamp?.position?.reaches($0) ?? false } ?? true
    }

    /// A digest that is equal on machines that know the same invalidations.
    var digest: [UInt8] {
        var writer = FieldWriter()
        writer.write(scope?.number ?? 0)
        return Array(ShortSHA256.digest(of: generation.bytes + writer.bytes).prefix(Self.size))
    }
}
