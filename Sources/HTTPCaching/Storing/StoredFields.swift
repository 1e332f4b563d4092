public import FoundationEssentials
import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The fields of a response that may be stored (RFC 9111 section 3.1): excludes those that apply to one connection,
    /// one proxy or a single exchange, and in a shared cache those that `private="…"` names (section 5.2.2.7).
    public func storableFields(of fields: HTTPFields) -> HTTPFields {
        var excluded = CacheRules.exchangeFields
        if mode == .shared { excluded.formUnion(directives(of: fields).privateFields) }
        return fields.endToEnd { excluded.contains($0) }
    }

    /// The fields of a response that only the request that received it gets: those that `no-cache="…"` names, and in a shared cache those that
    /// `private="…"` names. Both restrict the use by later requests alone (RFC 9111 sections 5.2.2.4 and 5.2.2.7).
    func requesterFields(of fields: HTTPFields) -> [HTTPField] {
        let directives = directives(of: fields)
        let names = directives.noCacheFields + (mode == .shared ? directives.privateFields : [])
        guard !names.isEmpty else { return [] }
        let named = Set(names).subtracting(CacheRules.exchangeFields)
        return fields.endToEnd().filter { named.contains($0.name.canonicalName) }
    }

    private func directives(of fields: HTTPFields) -> ResponseDirectives {
        ResponseDirectives(targeted: targetedFieldNames, in: fields) ?? ResponseDirectives(fields)
    }

    /// Fields that identify one exchange with the origin in logs and traces: in a later response they would identify
    /// another client's request. RFC 9111 section 3.1 would have them stored; none of them describes the
    /// representation.
    private static let exchangeFields: Set<String> = [
        "x-request-id", "request-id", "x-correlation-id", "correlation-id", "x-trace-id", "x-transaction-id",
        "traceparent", "tracestate", "traceresponse", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid",
        "x-b3-sampled", "x-amzn-requestid", "x-amzn-trace-id", "x-amz-request-id", "x-amz-id-2", "x-amz-cf-id",
        "x-cloud-trace-context", "x-goog-request-id", "x-guploader-uploadid", "x-ms-request-id",
        "x-ms-client-request-id", "x-ms-correlation-request-id", "x-azure-ref", "x-github-request-id", "cf-ray",
        "x-fastly-request-id", "fly-request-id", "x-vercel-id",
    ]

    /// Creates the stored form of a response. Requires ``storability(of:to:redirects:receivedAt:)`` to allow storing.
    ///
    /// A 206 whose `Content-Range` is the whole becomes a complete 200 (RFC 9111 section 3.4). An incomplete 200 is
    /// stored with ``StoredExtent/partial(held:total:)``, given `held`.
    /// - Parameters:
    ///   - response: The final response.
    ///   - request: The request that it answers.
    ///   - redirects: The redirects that were followed, in order.
    ///   - finalURL: The URL after redirects; `nil` if there were none.
    ///   - requestTime: The time at which the request was sent.
    ///   - responseTime: The time at which the head was received.
    ///   - bodyLength: The length of the received body in bytes, if known.
    ///   - held: The byte ranges of the representation that were received, if incomplete.
    public func stored(
        _ response: HTTPResponse,
        to request: CacheRequest,
        redirects: [StoredHead] = [],
        finalURL: String? = nil,
        requestTime: Date,
        responseTime: Date,
        bodyLength: Int64? = nil,
        held: [Range<Int64>]? = nil
    ) -> StoredResponse {
        var status = response.status
        var fields = storableFields(of: response.headerFields)
        var extent = StoredExtent.complete(length: bodyLength ?? ContentLength.value(of: response.headerFields))
        if let held {
            let total =
                status == .partialContent
                ? ContentRange(response.headerFields)?.total : ContentLength.value(of: response.headerFields)
            extent = .partial(held: held, total: total)
        } else if status == .partialContent, case .range(let part, let total)? = ContentRange(response.headerFields) {
            extent = .partial(held: [part], total: total)
        }
        if case .partial(let held, let total?) = extent, held == [0..<total] { extent = .complete(length: total) }
        if status == .partialContent, case .complete(let length) = extent {
            status = .ok
            fields = CacheRules.asWhole(fields, length: length)
        }
        // "A recipient with a clock that receives a response message without a Date header field MUST record the time it
        // was received and append a corresponding Date header field" (RFC 9110 section 6.6.1).
        if !fields.contains(.date) { fields[.date] = HTTPDate.format(responseTime) }
        let redirects = redirects.map(storable)
        var stored = StoredResponse(
            requestMethod: request.method,
            requestURL: request.url,
            finalURL: finalURL,
            selectingFields: selectingFields(of: request.fields, for: fields, redirects: redirects),
            redirects: redirects,
            status: status,
            fields: fields,
            requestTime: requestTime,
            responseTime: responseTime,
            extent: extent,
            ownVersion: request.freshnessOverride?.version ?? request.version
        )
        stored.requesterFields = requesterFields(of: response.headerFields)
        return stored
    }

    /// The stored part of a redirect: of one with `no-store`, only that directive.
    func storable(_ hop: StoredHead) -> StoredHead {
        let isNoStore = ResponseDirectives(hop.fields).flags.contains(.noStore)
        let fields = isNoStore ? [.cacheControl: "no-store"] : storableFields(of: hop.fields)
        return StoredHead(status: hop.status, fields: fields)
    }

    /// The fields of a part as those of a whole of this length; `nil` if the length is unknown.
    package static func asWhole(_ fields: HTTPFields, length: Int64?) -> HTTPFields {
        var fields = fields
        fields[.contentRange] = nil
        fields[.contentDigest] = nil
        fields[.contentLength] = length.map(String.init)
        return fields
    }
}
