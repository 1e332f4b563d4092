import FoundationEssentials
import HTTPCaching
import TextIdentity
import Units

/// The metadata of an application's value in the store.
struct ValueRecord: Equatable {
    /// Increased when the format changes; records of an unknown version count as damaged.
    private static let formatVersion: UInt8 = 1

    /// Seconds since 1970.
    var stored: Double
    /// In seconds; `nil`: unlimited.
    var lifetime: Double?
    var version: String?
    var applicationVersion: String?

    var expires: Date? { lifetime.map { Date(timeIntervalSince1970: stored + $0) } }

    /// The reason why the value may not be used, or `nil` if it may.
    func unusedReason(version: String?, applicationVersion: String?, now: Date) -> UnusedReason? {
        if self.version?.asBytes != version?.asBytes
            || self.applicationVersion?.asBytes != applicationVersion?.asBytes
        {
            return .version
        }
        if CacheRules.clockWentBack(since: Date(timeIntervalSince1970: stored), now: now) { return .clock }
        if let expires, expires <= now { return .stale }
        return nil
    }

    var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        writer.write(stored)
        writer.write(lifetime ?? -1)
        writer.write(version)
        writer.write(applicationVersion)
        return writer.bytes
    }

    init(stored: Date, lifetime: Duration?, version: String?, applicationVersion: String?) {
        self.stored = stored.timeIntervalSince1970
        self.lifetime = lifetime.map { max(0, $0.inSeconds) }
        self.version = version
        self.applicationVersion = applicationVersion
    }

    /// Returns `nil` for bytes that are damaged or of an unknown version.
    init?(decoding bytes: [UInt8]) {
        var reader = FieldReader(bytes)
        guard reader.readByte() == Self.formatVersion, let stored = reader.readDouble(), stored.isFinite,
            let lifetime = reader.readDouble(), !lifetime.isNaN, let version = reader.readOptionalString(),
            let applicationVersion = reader.readOptionalString(), reader.isAtEnd
        else { return nil }
        self.stored = stored
        self.lifetime = lifetime < 0 ? nil : lifetime
        self.version = version
        self.applicationVersion = applicationVersion
    }
}
