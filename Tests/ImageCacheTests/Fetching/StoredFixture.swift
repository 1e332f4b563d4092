import FoundationEssentials
import HTTPCaching
import HTTPTypes

@testable import DiskStore
@testable import ImageCache

/// A response that is stored in a table test, by what decides about its use. It was received at second 0.
enum StoredFixture: String, CaseIterable, Sendable {
    /// Fresh for 100 s, with a validator.
    case fresh
    /// Stale since second 10, with a validator.
    case stale
    /// Stale since second 10, without a validator.
    case staleWithoutValidator
    /// Stale since second 10, and never served stale.
    case mustRevalidate
    /// Stale since second 10, served stale during a revalidation.
    case staleWhileRevalidating
    /// Stale since second 10, served stale in place of an error.
    case staleIfError
    /// Stored for requests with another value of `Accept`.
    case otherVariant
    /// Received at second 1000.
    case fromTheFuture

    static let url = "https://origin.example/a"

    private var cacheControl: String {
        switch self {
        case .fresh, .otherVariant, .fromTheFuture: "max-age=100"
        case .stale, .staleWithoutValidator: "max-age=10"
        case .mustRevalidate: "max-age=10, must-revalidate"
        case .staleWhileRevalidating: "max-age=10, stale-while-revalidate=60"
        case .staleIfError: "max-age=10, stale-if-error=60"
        }
    }

    static func time(_ second: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + second) }

    var response: StoredResponse {
        var fields: HTTPFields = [.cacheControl: cacheControl]
        if self != .staleWithoutValidator { fields[.eTag] = "\"1\"" }
        if self == .otherVariant { fields[.vary] = "Accept" }
        let received = Self.time(self == .fromTheFuture ? 1000 : 0)
        return StoredResponse(
            requestURL: Self.url, requestFields: [.accept: "image/avif"], status: .ok, fields: fields,
            requestTime: received, responseTime: received, extent: .complete(length: 5))
    }

    func candidate(id: Int64 = 1) throws -> StoredCandidate {
        let record = ResponseRecord(url: Self.url, response: response)
        let entry = StoredEntry(
            id: id, key: EntryKey(.response(RequestKey(url: Self.url))), variant: "", url: Self.url, size: 5,
            allocated: 4096,
            metadata: record.encoded, created: Self.time(0), lastAccess: nil, accessSequence: nil, checksum: .none,
            boot: 0)
        guard let candidate = StoredCandidate(entry, .fixture) else { throw DamagedFixture() }
        return candidate
    }

    private struct DamagedFixture: Error {}
}

extension Generation {
    static let fixture = Generation(
        epoch: Epoch(slot: 0, everything: 0, invalidation: 0), slot: 0, change: 0, isSettled: true)
}
