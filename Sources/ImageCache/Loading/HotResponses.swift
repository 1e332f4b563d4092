import DiskStore
import FoundationEssentials
import Glibc
import HTTPCaching
public import HTTPTypes
import MemoryCache

/// A response from memory.
public struct HotResponse: Sendable {
    /// As ``ForwardedResponse/head``.
    public let head: HTTPResponse
    /// The body; empty for HEAD and 304.
    public let body: [UInt8]
}

/// Small responses in memory that are sent without a look at the disk.
///
/// One variant of a URL at a time. An entry is used only while its resource's generation lasts: a store, confirmation or removal by any
/// process on the directory ends it at once.
final class HotResponses: Sendable {
    /// Larger files are sent from the kernel's page cache.
    private static let sizeLimit: Int64 = 256 << 10
    /// The time for which a response is used without another look at the store, which counts as a use there.
    private static let lookInterval = Duration.seconds(1)

    private final class Entry: Sendable {
        let generation: Generation
        let response: StoredResponse
        /// The head of a hit without `Age` and `Cache-Status`.
        let head: HTTPResponse
        let body: [UInt8]
        /// Equal for requests that `Vary` does not tell apart; `nil` when there is none.
        let variant: String?
        /// Seconds since 1970 at which the age was 0, and until which the response is fresh.
        let bornAt: Double
        let freshUntil: Double
        let lookedAt: ContinuousClock.Instant

        init(
            _ generation: Generation, _ response: StoredResponse, head: HTTPResponse, body: [UInt8], variant: String?,
            bornAt: Double, freshUntil: Double
        ) {
            self.generation = generation
            self.response = response
            self.head = head
            self.body = body
            self.variant = variant
            self.bornAt = bornAt
            self.freshUntil = freshUntil
            lookedAt = .now
        }
    }

    private struct Key: MemoryCacheKey {
        /// Normalised.
        var url: String
    }

    /// `nil`: nothing is kept, and a process that ends after one request does not set up a memory cache.
    private let memory: MemoryCache<Key, Entry>?
    private let limits: MemoryCacheLimits
    private let rules: CacheRules
    private let now: @Sendable () -> Date
    private let store: DiskStore

    init(limits: MemoryCacheLimits, rules: CacheRules, now: @escaping @Sendable () -> Date, store: DiskStore) {
        self.limits = limits
        memory = limits.capacity > 0 ? MemoryCache(limits: limits) : nil
        self.store = store
        self.rules = rules
        self.now = now
    }

    // MARK: Serving

    func response(for request: FileRequest) -> HotResponse? {
        guard request.owner == nil, request.transfer.credentials == nil, request.body == nil, request.key == nil,
            let entry = memory?.value(for: Key(url: request.url)), .now - entry.lookedAt < Self.lookInterval,
            store.isCurrent(entry.generation)
        else { return nil }
        switch Kind(request) {
        case .plain: return plain(entry, request)
        case .conditional: return conditional(entry, request)
        case .other: return nil
        }
    }

    private func plain(_ entry: Entry, _ request: FileRequest) -> HotResponse? {
        let now = now().timeIntervalSince1970
        // After a step of the clock backwards nobody knows how old it is.
        guard now < entry.freshUntil, now >= entry.response.responseTime.timeIntervalSince1970 - 1,
            matches(entry, request)
        else { return nil }
        var head = entry.head
        head.headerFields[.age] = String(max(0, Int(now - entry.bornAt)))
        var status = CacheStatus(cache: "imgcache", hit: true)
        status.timeToLive = Int((entry.freshUntil - now).rounded(.up))
        return HotResponse(head: head.with(status), body: request.method == .head ? [] : entry.body)
    }

    private func conditional(_ entry: Entry, _ request: FileRequest) -> HotResponse? {
        guard matches(entry, request) else { return nil }
        let asked = CacheRequest(method: request.method, url: request.url, fields: request.fields)
        let decision = rules.decide(asked, stored: [entry.response], now: now())
        guard case .serve(let served) = decision, !served.isStale else { return nil }
        let head = rules.head(of: served, from: entry.response).with(decision.cacheStatus())
        switch served.body {
        case .none: return HotResponse(head: head, body: [])
        case .whole: return HotResponse(head: head, body: entry.body)
        case .range(let range, _):
            guard range.upperBound <= entry.body.count else { return nil }
            return HotResponse(head: head, body: Array(entry.body[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }

    private func matches(_ entry: Entry, _ request: FileRequest) -> Bool {
        guard let variant = entry.variant else { return true }
        return variant == rules.selectingText(of: request.fields, for: entry.response.fields)
    }

    private enum Kind {
        /// Nothing in it prevents the use of a fresh response.
        case plain
        /// It has conditions or a range.
        case conditional
        /// Another namespace or policy than the default.
        case other

        init(_ request: FileRequest) {
            self = .other
            guard request.method == .get || request.method == .head, request.freshnessOverride == nil,
                request.expectedDigest == nil, request.policy == .useProtocolCachePolicy, request.transfer.netrc == .off
            else { return }
            var isConditional = false
            for field in request.fields {
                switch field.name {
                case .authorization, .ifMatch, .ifUnmodifiedSince, .cacheControl: return
                case .range, .ifRange, .ifNoneMatch, .ifModifiedSince: isConditional = true
                default: if field.name.canonicalName == "pragma" { return }
                }
            }
            self = isConditional ? .conditional : .plain
        }
    }

    // MARK: Keeping

    /// Keeps a response that was just served from disk, if it may be served to others in the same way.
    func keep(_ stored: CachedResponse, to resolved: ResolvedRequest) {
        let request = resolved.request
        guard let memory, stored.head.status == .ok, resolved.asked.method == .get,
            let file = stored.file, file.source == .disk, stored.range == 0..<file.size, file.size <= Self.sizeLimit,
            request.url == resolved.url, case .plain = Kind(request), request.owner == nil,
            request.transfer.credentials == nil,
            let remaining = file.cacheStatus.timeToLive, remaining > 0,
            let age = stored.head.headerFields[.age].flatMap({ Double($0) }), store.isCurrent(file.generation),
            let body = file.bytes()
        else { return }
        var head = stored.head
        head.headerFields[.age] = nil
        HTTPField.Name("Cache-Status").map { head.headerFields[$0] = file.response.fields[$0] }
        var response = file.response
        response.extent = .complete(length: file.size)
        let now = now().timeIntervalSince1970
        let variant = rules.selectingText(of: request.fields, for: response.fields) ?? "*"
        let entry = Entry(
            file.generation, response, head: head, body: body, variant: variant.isEmpty ? nil : variant,
            bornAt: now - age, freshUntil: now + Double(remaining))
        memory.insert(entry, for: Key(url: request.url), cost: body.count + 2048)
    }

    func forget(_ url: String) { _ = memory?.remove(Key(url: url)) }

    func forgetAll() { memory?.removeAll() }

    var statistics: MemoryCacheStatistics { memory?.statistics ?? MemoryCacheStatistics(limits: limits) }
}

extension CachedFile {
    /// All of a small file.
    fileprivate func bytes() -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            while count < buffer.count {
                let read = pread(
                    body.descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count, off_t(count))
                if read < 0 && errno == EINTR { continue }
                guard read > 0 else { return }
                count += read
            }
        }
        return bytes.count == Int(size) ? bytes : nil
    }
}
