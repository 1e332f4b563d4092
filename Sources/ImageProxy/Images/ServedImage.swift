import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageCache

/// A derived image and its conversion to a response.
struct ServedImage {
    let thumbnail: Thumbnail
    let operation: ImageOperation
    private let name: String

    init(_ thumbnail: Thumbnail, _ operation: ImageOperation, name: String) {
        self.thumbnail = thumbnail
        self.operation = operation
        self.name = name
    }

    /// The failure that is sent if the original is damaged and such images are rejected.
    func refusal(_ rules: ImageRules) -> Response? {
        guard let damage = thumbnail.damage, rules.damaged == .refuse else { return nil }
        var response = Response.failure(422, "image-damaged", "The original is damaged.")
        response.detail = "\(damage)"
        return response
    }

    func response(to incoming: Request, _ rules: ImageRules, at now: Date) -> Response {
        guard
            incoming.head.fields.arePreconditionsMet(
                by: thumbnail.entityTag, modified: thumbnail.lastModified.flatMap { HTTPDate.parse($0, now: now) },
                at: now)
        else { return preconditionFailure }
        var fields = representationFields(rules, at: now)
        let outcome = CacheOutcome(thumbnail.source)
        var (status, range) = (HTTPResponse.Status.ok, 0..<thumbnail.bytes.count)
        if incoming.head.fields.contains(where: Self.isConditional) {
            (status, range) = narrow(&fields, incoming, at: now)
        }
        fields[.via] = "1.1 \(name)"
        fields[.cacheStatus] = cacheStatus(outcome)
        if rules.tellsTiming { ServerTiming.append(outcome, since: incoming.received, to: &fields) }
        if status != .notModified { fields[.contentLength] = String(range.count) }
        let hasContent = incoming.method != .head && status != .notModified && status != .rangeNotSatisfiable
        let bytes = range.count == thumbnail.bytes.count ? thumbnail.bytes : Array(thumbnail.bytes[range])
        return Response(
            HTTPResponse(status: status, headerFields: fields), body: hasContent ? .bytes(bytes) : .none,
            outcome: outcome)
    }

    /// The value of `Cache-Status` (RFC 9211). A hit asked nothing of the origin; its detail is the source of the image.
    private func cacheStatus(_ outcome: CacheOutcome) -> String {
        var status = CacheStatus(cache: name)
        switch outcome {
        case .revalidated: status.forward = .stale
        case .miss: status.forward = .uriMiss
        default: status.hit = true
        }
        switch (thumbnail.damage, thumbnail.source) {
        case (.some, _): status.detail = "damaged"
        case (_, .memory): status.detail = "memory"
        case (_, .remote), (_, .original(.remote)): status.detail = "REMOTE"
        case (_, .original(.disk)): status.detail = "rendered"
        case (_, .thumbnail(.stale)), (_, .original(.stale)): status.detail = "stale"
        case (_, .thumbnail), (_, .original): break
        }
        return status.appended(to: thumbnail.freshness.lifetimeNote)
    }

    /// The fields of a 200.
    private func representationFields(_ rules: ImageRules, at now: Date) -> HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(16)
        fields[.contentType] = thumbnail.format.mediaType
        fields[.cacheControl] = thumbnail.freshness.cacheControl(
            at: now, notAfter: expiry(now), sending: rules.sentLifetimes)
        fields[.eTag] = thumbnail.entityTag.text
        fields[.lastModified] = thumbnail.lastModified
        fields[.acceptRanges] = "bytes"
        let selecting = (operation.variesOnAccept ? ["Accept"] : []) + operation.hintNames
        if !selecting.isEmpty { fields[.vary] = selecting.joined(separator: ", ") }
        if rules.usesClientHints { fields[.acceptCH] = ClientHints.accepted }
        if let ratio = contentPixelRatio { fields[.contentDPR] = ClientHints.text(ratio) }
        fields[.link] = operation.original.link
        // The content is always treated as an image.
        fields[.xContentTypeOptions] = "nosniff"
        fields[.contentDisposition] = operation.original.disposition(thumbnail.format.mediaType)
        return fields
    }

    /// The time after which the image must not be used, in seconds since 1970: the expiry of the URL, or soon if the original
    /// is damaged, because the origin may repair it. nil if the original alone determines the lifetime.
    private func expiry(_ now: Date) -> Int64? {
        guard thumbnail.damage != nil else { return operation.expiry }
        // A lifetime includes its last second.
        let soon = Int64(now.timeIntervalSince1970) + Self.secondsOfDamaged - 1
        return min(operation.expiry ?? soon, soon)
    }

    private static let secondsOfDamaged: Int64 = 60

    // MARK: Conditions and ranges

    private static func isConditional(_ field: HTTPField) -> Bool {
        switch field.name {
        case .ifNoneMatch, .ifModifiedSince, .range: true
        default: false
        }
    }

    /// Applies the client's preconditions and range (RFC 9110 sections 13 and 14) through the caching rules.
    private func narrow(
        _ fields: inout HTTPFields, _ incoming: Request, at now: Date
    ) -> (HTTPResponse.Status, Range<Int>) {
        let whole = 0..<thumbnail.bytes.count
        let stored = StoredResponse(
            requestURL: operation.request.file.url, status: .ok, fields: fields, requestTime: now, responseTime: now,
            extent: .complete(length: Int64(whole.count)))
        let rules = CacheRules(mode: .shared)
        let request = CacheRequest(method: incoming.method, url: stored.requestURL, fields: incoming.head.fields)
        guard let served = rules.served(stored, for: request, now: now) else { return (.ok, whole) }
        fields = rules.head(of: served, from: stored).headerFields
        // Cache-Control already contains the remaining lifetime.
        fields[.age] = nil
        switch served.body {
        case .range(let range, _): return (served.status, Int(range.lowerBound)..<Int(range.upperBound))
        case .whole: return (served.status, whole)
        case .none: return (served.status, served.status == .rangeNotSatisfiable ? 0..<0 : whole)
        }
    }
}

extension CacheOutcome {
    init(_ source: ImageSourceKind) {
        self =
            switch source {
            case .memory: .memory
            case .thumbnail(.revalidated), .original(.revalidated): .revalidated
            case .thumbnail(.stale), .original(.stale): .stale
            case .thumbnail, .remote: .hit
            case .original(.disk), .original(.remote): .rendered
            case .original(.network), .original(.networkResumed): .miss
            }
    }
}

extension HTTPField.Name {
    static let xContentTypeOptions = known("X-Content-Type-Options")
    fileprivate static let contentDisposition = known("Content-Disposition")
    fileprivate static let acceptCH = known("Accept-CH")
    fileprivate static let contentDPR = known("Content-DPR")
    static let link = known("Link")
}
