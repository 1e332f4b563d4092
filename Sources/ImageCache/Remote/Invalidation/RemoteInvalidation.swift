import HTTPCaching
import HTTPSemantics

/// The scope of an invalidation, as machines tell each other.
enum RemoteInvalidation: Sendable, Hashable {
    /// One resource by its key URL; of all owners, or of nobody in particular.
    case url(String, allOwners: Bool)
    case prefix(String)
    case host(String)

    /// The resource; nil: several.
    var url: String? { if case .url(let url, _) = self { url } else { nil } }

    /// A target of a removal; nil: it is not told to others.
    init?(_ target: RemovalTarget) {
        switch target {
        case .prefix(let prefix): self = .prefix(prefix)
        case .host(let host): self = .host(host)
        case .entry, .url, .owner: return nil
        }
    }

    /// Matches the key URLs that are meant.
    var matcher: @Sendable (String) -> Bool {
        switch self {
        case .url(let url, _): { $0 == url }
        case .prefix(let prefix): RemovalTarget.prefix(prefix).matcher
        case .host(let host): RemovalTarget.host(host).matcher
        }
    }

    // MARK: Coding

    private static let formatVersion: UInt8 = 1
    /// Invalidations of one entry of the log.
    static let maxBatch = 256

    /// An entry of the log, which a random number makes unlike any other.
    static func encode(_ batch: [RemoteInvalidation], number: Int64 = .random(in: 0 ... .max)) -> [UInt8] {
        var writer = FieldWriter()
        writer.write(formatVersion)
        writer.write(number)
        writer.write(length: batch.count)
        for invalidation in batch {
            switch invalidation {
            case .url(let url, let allOwners):
                writer.write(UInt8(allOwners ? 1 : 0))
                writer.write(url)
            case .prefix(let prefix):
                writer.write(UInt8(2))
                writer.write(prefix)
            case .host(let host):
                writer.write(UInt8(3))
                writer.write(host)
            }
        }
        return writer.bytes
    }

    /// `nil` for bytes that are no entry of the log.
    static func decode(_ bytes: [UInt8]) -> [RemoteInvalidation]? {
        var reader = FieldReader(bytes)
        guard reader.readByte() == formatVersion, reader.readInt64() != nil, let count = reader.readLength(),
            count <= bytes.count
        else { return nil }
        var batch: [RemoteInvalidation] = []
        for _ in 0..<count {
            guard let kind = reader.readByte(), let text = reader.readString() else { return nil }
            switch kind {
            case 0, 1: batch.append(.url(text, allOwners: kind == 1))
            case 2: batch.append(.prefix(text))
            case 3: batch.append(.host(text))
            default: return nil
            }
        }
        return batch
    }
}
