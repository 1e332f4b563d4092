import Foundation
import HTTPCaching
import HTTPSemantics
import HTTPTypes

/// The time that the tests call now: Thu, 01 Jan 2026 00:00:00 GMT.
let now = Date(timeIntervalSince1970: 1_767_225_600)

let url = "https://example.org/picture.png"

/// `now`, so many seconds earlier or later, as a field writes it.
func date(_ offset: Double) -> String { HTTPDate.format(now + offset) }

/// Fields from `name: value` pairs; a name may occur several times.
func fields(_ pairs: [(String, String)]) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in pairs {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
}

func response(_ status: Int = 200, _ pairs: (String, String)...) -> HTTPResponse {
    HTTPResponse(status: .init(code: status), headerFields: fields(pairs))
}

func get(
    _ pairs: (String, String)..., policy: CachePolicy = .useProtocolCachePolicy, own: FreshnessOverride? = nil,
    method: HTTPRequest.Method = .get, url: String = url
) -> CacheRequest {
    CacheRequest(method: method, url: url, fields: fields(pairs), policy: policy, freshnessOverride: own)
}

/// A response that was received `ago` seconds before now, with a Date of that time unless it says one.
func stored(
    _ pairs: (String, String)..., ago: Double = 0, status: Int = 200, method: HTTPRequest.Method = .get,
    request: [(String, String)] = [], redirects: [StoredHead] = [], extent: StoredExtent = .complete(length: 1000),
    version: String? = nil, url: String = url, delay: Double = 0, hasDate: Bool = true
) -> StoredResponse {
    var all = fields(pairs)
    if hasDate, !all.contains(.date) { all[.date] = date(-ago) }
    return StoredResponse(
        requestMethod: method, requestURL: url, requestFields: fields(request), redirects: redirects,
        status: .init(code: status), fields: all, requestTime: now - ago - delay, responseTime: now - ago,
        extent: extent,
        ownVersion: version)
}

let privateRules = CacheRules(mode: .private)
let sharedRules = CacheRules(mode: .shared)

extension CacheDecision {
    /// The decision in one word, for tables.
    var word: String {
        switch self {
        case .serve(let served): served.isStale ? "stale" : "fresh"
        case .serveAndRevalidate: "stale+refresh"
        case .validate: "validate"
        case .forward(let forward): "forward" + (forward.completingValidator == nil ? "" : "+complete")
        case .fail: "fail"
        }
    }

    var served: ServedResponse? {
        switch self {
        case .serve(let served), .serveAndRevalidate(let served, _): served
        default: nil
        }
    }

    var validation: CacheValidation? {
        switch self {
        case .validate(let validation), .serveAndRevalidate(_, let validation): validation
        default: nil
        }
    }

    var forwarded: CacheForward? {
        if case .forward(let forward) = self { forward } else { nil }
    }
}

extension CacheRules {
    func word(_ request: CacheRequest = get(), _ stored: StoredResponse..., at time: Date = now) -> String {
        decide(request, stored: stored, now: time).word
    }
}
