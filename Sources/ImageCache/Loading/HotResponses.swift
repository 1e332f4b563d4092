import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPSemantics
public import HTTPTypes
import MemoryCache
import Synchronization
import TextIdentity

/// A response from memory.
public struct HotResponse: Sendable {
    /// As ``ForwardedResponse/head``.
    public let head: HTTPResponse
    /// `nil` for HEAD and 304.
    public let body: Body?
    /// The terms on which equal requests get the same response; `nil` if each must be looked up.
    package let reuse: Reuse?

    /// The body of a response that is sent without reading the disk.
    public enum Body: Sendable {
        /// A small body.
        case bytes([UInt8])
        /// A range of a file that is open, for reading with `pread` or `sendfile` as ``CachedResponse`` explains.
        case stored(CachedResponse)
    }

    init(head: HTTPResponse, body: [UInt8]?, reuse: Reuse) {
        self.head = head
        self.body = body.map { .bytes($0) }
        self.reuse = reuse
    }

    init(_ response: CachedResponse) {
        head = response.head
        body = response.descriptor == nil ? nil : .stored(response)
        reuse = nil
    }

    /// The terms on which a response may be sent again without another look-up, to requests with the same method, URL, conditions and range.
    package struct Reuse: Sendable {
        /// The lowercase names of request fields whose values must also be equal.
        package let selectingNames: Set<String>
        /// The time until the head changes or the store must be read again.
        package let lifetime: Duration
        /// Counts a use. Returns false if the resource has changed since.
        package let permits: @Sendable () -> Bool
    }
}

/// Small responses in memory, which are sent without reading the disk.
///
/// Keeps one variant of each URL. An entry is valid only in its resource's generation, which ends when any process stores, confirms or removes a
/// response of the resource.
final class HotResponses: Sendable {
    /// Larger files are sent from the kernel's page cache.
    private static let sizeLimit: Int64 = 256 << 10
    /// The time for which a response is used without another look-up. A look-up counts as a use in the store.
    private static let lookInterval = Duration.seconds(1)
    /// The detail in `Cache-Status` of a response from memory.
    private static let detail = "memory"

    private final class Entry: Sendable {
        let generation: Generation
        let response: StoredResponse
        /// The number of the entry in the store. Another body has another number.
        let id: Int64
        /// The head of a hit without `Age` and `Cache-Status`.
        let head: HTTPResponse
        let body: [UInt8]
        /// Equal for requests whose fields that `Vary` names are equal; `nil` if the response does not vary.
        let variant: String?
        /// The names of the fields that ``variant`` is made of.
        let selectingNames: Set<String>
        /// Seconds since 1970 at which the age was 0, and until which the response is fresh.
        let bornAt: Double
        let freshUntil: Double
        let lookedAt: ContinuousClock.Instant

        init(
            _ generation: Generation, _ response: StoredResponse, id: Int64, head: HTTPResponse, body: [UInt8],
            variant: String?, selectingNames: Set<String>, bornAt: Double, freshUntil: Double
        ) {
            self.generation = generation
            self.response = response
            self.id = id
            self.head = head
            self.body = body
            self.variant = variant
            self.selectingNames = selectingNames
            self.bornAt = bornAt
            self.freshUntil = freshUntil
            lookedAt = .now
        }
    }

    private struct Key: MemoryCacheKey {
        /// Normalised.
        @ByteText var url: String
        /// As ``FileRequest/owner``.
        var owner: ByteText?
    }

    /// `nil` if nothing is kept, so that a process that ends after one request sets up no memory cache.
    private let memory: MemoryCache<Key, Entry>?
    private let limits: MemoryCacheLimits
    private let rules: CacheRules
    private let now: @Sendable () -> Date
    private let store: DiskStore
    /// Uses of responses without a look-up.
    private let reuses = Atomic<Int>(0)

    init(limits: MemoryCacheLimits, rules: CacheRules, now: @escaping @Sendable () -> Date, store: DiskStore) {
        self.limits = limits
        memory = limits.capacity > 0 ? MemoryCache(limits: limits) : nil
        self.store = store
        self.rules = rules
        self.now = now
    }

    // MARK: Serving

    func response(for request: FileRequest) -> HotResponse? {
        guard let entry = memory?.value(for: Key(url: request.url, owner: request.owner?.asBytes)),
            .now - entry.lookedAt < Self.lookInterval,
            store.isCurrent(entry.generation)
        else { return nil }
        switch Kind(request) {
        case .plain: return plain(entry, request)
        case .conditional: return conditional(entry, request)
        case .other: return nil
        }
    }

    private func plain(_ entry: Entry, _ request: FileRequest) -> HotResponse? {
        let time = now()
        let now = time.timeIntervalSince1970
        guard now < entry.freshUntil, !CacheRules.clockWentBack(since: entry.response.responseTime, now: time),
            matches(entry, request)
        else { return nil }
        var head = entry.head
        let age = max(0, Int(now - entry.bornAt))
        head.headerFields[.age] = String(age)
        var status = CacheStatus(cache: "imgcache", hit: true, detail: Self.detail)
        let timeToLive = (entry.freshUntil - now).rounded(.up)
        status.timeToLive = Int(timeToLive)
        let nextChange = min(entry.bornAt + Double(age + 1), entry.freshUntil - timeToLive + 1)
        return HotResponse(
            head: head.with(status), body: request.method == .head ? nil : entry.body,
            reuse: reuse(of: entry, within: nextChange - now))
    }

    /// - Parameter seconds: the time until the head changes.
    private func reuse(of entry: Entry, within seconds: Double) -> HotResponse.Reuse {
        let untilLook = Self.lookInterval - (.now - entry.lookedAt)
        return HotResponse.Reuse(
            selectingNames: entry.variant == nil ? [] : entry.selectingNames,
            lifetime: min(.seconds(max(0, seconds)), untilLook)
        ) { [self] in
            guard store.isCurrent(entry.generation) else { return false }
            reuses.wrappingAdd(1, ordering: .relaxed)
            return true
        }
    }

    private func conditional(_ entry: Entry, _ request: FileRequest) -> HotResponse? {
        guard matches(entry, request) else { return nil }
        let asked = CacheRequest(method: request.method, url: request.url, fields: request.fields)
        let now = now()
        let decision = StoredDecision(asked, stored: [entry.response], allowing: .fresh, by: rules, at: now)
        guard let served = decision.served else { return nil }
        var status = decision.status
        status.detail = Self.detail
        let head = rules.head(of: served, from: entry.response).with(status)
        // The head's times are whole seconds. It may be used a tenth of a second longer.
        let reuse = reuse(of: entry, within: min(0.1, entry.freshUntil - now.timeIntervalSince1970))
        switch served.body {
        case .none: return HotResponse(head: head, body: nil, reuse: reuse)
        case .whole: return HotResponse(head: head, body: entry.body, reuse: reuse)
        case .range(let range, _):
            guard range.upperBound <= entry.body.count else { return nil }
            return HotResponse(
                head: head, body: Array(entry.body[Int(range.lowerBound)..<Int(range.upperBound)]), reuse: reuse)
        }
    }

    private func matches(_ entry: Entry, _ request: FileRequest) -> Bool {
        guard let variant = entry.variant else { return true }
        return variant == rules.selectingText(of: ResolvedRequest.sentFields(request), for: entry.response.fields)
    }

    enum Kind {
        /// A GET or HEAD that a fresh response answers as it is.
        case plain
        /// It has conditions or a range.
        case conditional
        /// Any other request, such as one for several ranges, with credentials, or with another policy than the default.
        case other

        init(_ request: FileRequest) {
            self = .other
            guard request.method == .get || request.method == .head, request.body == nil, request.key == nil,
                request.transfer.credentials == nil, request.freshnessOverride == nil,
                request.expectedDigest == nil, request.policy == .useProtocolCachePolicy,
                request.transfer.netrc == .off,
                request.transfer.clientCertificate == nil, request.transfer.cookieFile == nil
            else { return }
            var isConditional = false
            for field in request.fields {
                switch field.name {
                case .authorization, .ifMatch, .ifUnmodifiedSince, .cacheControl: return
                case .range where field.value.utf8.contains(UInt8(ascii: ",")): return
                case .range, .ifRange, .ifNoneMatch, .ifModifiedSince: isConditional = true
                default: if field.name.canonicalName == "pragma" { return }
                }
            }
            self = isConditional ? .conditional : .plain
        }
    }

    // MARK: Keeping

    /// Keeps the stored response that was just served from disk, if other requests may be served with it in the same way. Keeps all of its body,
    /// also after a request for a range, for the head, or with conditions.
    func keep(_ stored: CachedResponse, to resolved: ResolvedRequest) {
        let request = resolved.request
        guard let memory, let file = stored.file, file.source == .disk, file.size <= Self.sizeLimit,
            request.url == resolved.url, Kind(request) != .other, store.isCurrent(file.generation)
        else { return }
        var response = file.response
        response.extent = .complete(length: file.size)
        let now = now()
        let asked = CacheRequest(method: .get, url: request.url, fields: request.fields.withoutConditions)
        let decision = StoredDecision(asked, stored: [response], allowing: .fresh, by: rules, at: now)
        guard let served = decision.served, served.status == .ok, case .whole = served.body,
            served.remainingLifetime > 0
        else { return }
        var head = rules.head(of: served, from: response)
        guard let age = head.headerFields[.age].flatMap({ Double($0) }) else { return }
        head.headerFields[.age] = nil
        let key = Key(url: request.url, owner: request.owner?.asBytes)
        let older = memory.value(for: key)
        guard let body = older?.id == file.body.entry.id ? older?.body : try? file.body.all() else { return }
        let variant = rules.selectingText(of: ResolvedRequest.sentFields(request), for: response.fields) ?? "*"
        let entry = Entry(
            file.generation, response, id: file.body.entry.id, head: head, body: body,
            variant: variant.isEmpty ? nil : variant, selectingNames: rules.selectingNames(of: response.fields),
            bornAt: now.timeIntervalSince1970 - age,
            freshUntil: now.timeIntervalSince1970 + Double(served.remainingLifetime))
        memory.insert(entry, for: key, cost: body.count + 2048)
    }

    func forget(_ url: String, of owner: String?) { _ = memory?.remove(Key(url: url, owner: owner?.asBytes)) }

    func forgetAll() { memory?.removeAll() }

    var statistics: MemoryCacheStatistics {
        var statistics = memory?.statistics ?? MemoryCacheStatistics(limits: limits)
        statistics.counts.hits += reuses.load(ordering: .relaxed)
        return statistics
    }
}
