/// A hash function that bodies are compared by, under its name in the IANA registries of HTTP digests and hash function text names.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    case md5
    case sha1 = "sha-1"
    case sha224 = "sha-224"
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    /// The length of its digests in bytes.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// True if a digest identifies its content even against deliberate collisions. MD5 and SHA-1 detect only accidental damage.
    public var isCollisionResistant: Bool { byteCount >= 28 }

    /// The algorithm with that name (`sha-256`, `SHA256`, `sha1`), without regard to case.
    public init?(named name: some StringProtocol) {
        let plain = name.lowercased().filter { $0 != "-" }
        guard let algorithm = Self.allCases.first(where: { $0.rawValue.filter { $0 != "-" } == plain }) else {
            return nil
        }
        self = algorithm
    }
}

/// The digest of a body.
public struct Digest: Sendable, Hashable {
    public let algorithm: DigestAlgorithm
    public let bytes: [UInt8]

    /// `nil` when the number of bytes is not the algorithm's.
    public init?(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// `nil` for anything but the algorithm's number of hexadecimal digits.
    public init?(_ algorithm: DigestAlgorithm, hexadecimal text: some StringProtocol) {
        guard let bytes = [UInt8](hexadecimal: text) else { return nil }
        self.init(algorithm, bytes)
    }

    /// In lower case.
    public var hexadecimal: String { bytes.hexadecimal }
}

/// The digests of a body's pieces, which tell where it is damaged.
public struct PieceDigests: Sendable, Hashable {
    public let algorithm: DigestAlgorithm
    /// The length of each piece in bytes; the last one may be shorter.
    public let length: Int64
    public let digests: [[UInt8]]

    /// `nil` when the length is not positive, there is none, or one has not the algorithm's number of bytes.
    public init?(_ algorithm: DigestAlgorithm, length: Int64, _ digests: [[UInt8]]) {
        guard length > 0, !digests.isEmpty, digests.allSatisfy({ $0.count == algorithm.byteCount }) else { return nil }
        guard !length.multipliedReportingOverflow(by: Int64(digests.count)).overflow else { return nil }
        self.algorithm = algorithm
        self.length = length
        self.digests = digests
    }

    /// Returns true if a body of `size` bytes divides into exactly this number of pieces.
    public func fits(size: Int64) -> Bool {
        let count = Int64(digests.count)
        return size > (count - 1) * length && size <= count * length
    }
}
