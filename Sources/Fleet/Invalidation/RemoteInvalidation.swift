import HTTPCaching
import HTTPSemantics
import ImageCache
import TextIdentity

/// The scope of an invalidation in the fleet.
enum RemoteInvalidation: Sendable, Hashable {
    /// One resource by its key URL, of all owners or in the shared namespace only.
    case url(String, allOwners: Bool)
    case prefix(String)
    case host(String)
    case everything

    /// The URL of a single resource; nil for several resources.
    var url: String? { if case .url(let url, _) = self { url } else { nil } }

    /// The scope of a removal; nil if the target is not published as a scope.
    init?(_ target: RemovalTarget) {
        switch target {
        // A shortened prefix invalidates more, which is allowed.
        case .prefix(let prefix): self = .prefix(String(prefix.prefix(Self.maxPrefixLength)))
        case .host(let host): self = .host(RemovalTarget.normalized(host: host))
        case .everything: self = .everything
        case .entry, .url, .owner: return nil
        }
    }

    // The scope with its text as bytes, by which scopes are compared.
    private var identity: (kind: Int, text: ByteText, allOwners: Bool) {
        switch self {
        case .url(let url, let allOwners): (0, url.asBytes, allOwners)
        case .prefix(let prefix): (1, prefix.asBytes, false)
        case .host(let host): (2, host.asBytes, false)
        case .everything: (3, "".asBytes, false)
        }
    }

    static func == (one: RemoteInvalidation, other: RemoteInvalidation) -> Bool { one.identity == other.identity }

    func hash(into hasher: inout Hasher) {
        hasher.combine(identity.kind)
        hasher.combine(identity.text)
        hasher.combine(identity.allOwners)
    }

    /// Matches the key URLs in the scope.
    var matcher: @Sendable (String) -> Bool {
        switch self {
        case .url(let url, _): { $0.hasSameBytes(as: url) }
        case .prefix(let prefix): RemovalTarget.prefix(prefix).matcher
        case .host(let host): RemovalTarget.host(host).matcher
        case .everything: RemovalTarget.everything.matcher
        }
    }

    // MARK: Coding

    private static let formatVersion: UInt8 = 1
    /// The maximum number of invalidations in an entry of the log.
    static let maxBatch = 256
    /// The maximum length of a prefix in characters.
    private static let maxPrefixLength = 1024

    /// An entry of the log, which a random number makes unique.
    static func encode(_ batch: [RemoteInvalidation], number: Int64 = .random(in: 0 ... .max)) -> [UInt8] {
        var writer = FieldWriter()
        writer.write(formatVersion)
        writer.write(number)
        writer.write(length: batch.count)
        for invalidation in batch { invalidation.write(to: &writer) }
        return writer.bytes
    }

    /// Returns `nil` for bytes that are not an entry of the log.
    static func decode(_ bytes: [UInt8]) -> [RemoteInvalidation]? {
        var reader = FieldReader(bytes)
        guard reader.readByte() == formatVersion, reader.readInt64() != nil, let count = reader.readLength(),
            count <= bytes.count
        else { return nil }
        var batch: [RemoteInvalidation] = []
        for _ in 0..<count {
            guard let invalidation = RemoteInvalidation(from: &reader) else { return nil }
            batch.append(invalidation)
        }
        return batch
    }

    func write(to writer: inout FieldWriter) {
        let (kind, text): (UInt8, String) =
            switch self {
            case .url(let url, allOwners: false): (0, url)
            case .url(let url, allOwners: true): (1, url)
            case .prefix(let prefix): (2, prefix)
            case .host(let host): (3, host)
            case .everything: (4, "")
            }
        writer.write(kind)
        writer.write(text)
    }

    init?(from reader: inout FieldReader) {
        guard let kind = reader.readByte(), let text = reader.readString() else { return nil }
        switch kind {
        case 0, 1: self = .url(text, allOwners: kind == 1)
        case 2: self = .prefix(text)
        case 3: self = .host(text)
        case 4: self = .everything
        default: return nil
        }
    }
}
