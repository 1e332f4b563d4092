import FoundationEssentials
package import HTTPCaching
import HTTPSemantics
package import HTTPTypes
package import Transfer

extension ResponseRecord {
    init(_ head: ResponseHead, answering resolved: ResolvedRequest, rules: CacheRules) {
        let response = rules.stored(
            HTTPResponse(status: head.status, headerFields: head.fields), to: resolved.cacheRequest,
            redirects: head.storedRedirects, finalURL: head.finalURL, requestTime: head.requestTime,
            responseTime: head.responseTime)
        self.init(url: resolved.url, response: response)
    }

    /// The validator that proves a later response to be of the same representation; `nil` if there is none.
    package var validator: ResumeValidator? { head.resumeValidator }

    /// The `Last-Modified` date, if it is a strong validator.
    var strongLastModified: String? { head.validators.strongLastModified }

    /// True if the response is a representation of which ranges can be requested. A body with a Content-Encoding is not resumed
    /// (``ResponseHead/resumeValidator``).
    var isDivisible: Bool {
        (response.status == .ok || response.status == .partialContent) && !head.hasContentCoding
    }

    private var head: ResponseHead {
        ResponseHead(
            status: response.status, fields: response.fields, finalURL: finalURL, requestTime: response.requestTime,
            responseTime: response.responseTime)
    }

    /// Returns true if a request with these fields selects the same representation according to `Vary` (RFC 9111 section 4.1).
    ///
    /// The validator alone is not sufficient: two languages of a page that were saved in the same second have the same `Last-Modified`, and servers
    /// give the plain and the compressed form the same `ETag`. After `Vary: *`, which prevents a comparison, a strong `ETag` is sufficient: it is
    /// unique among all representations of a resource (RFC 9110 section 8.8.3).
    package func mayBeContinued(by fields: HTTPFields, rules: CacheRules) -> Bool {
        rules.variantKey(of: fields, for: response.fields, redirects: response.redirects) == nil
            ? response.fields[.eTag] != nil : rules.isSelected(response, by: fields)
    }

    /// Updates the fields from a response of the same representation (RFC 9111 section 3.4): a 206 (Partial Content), a 200 of which some blocks
    /// were wanted, or a 416 that proves the body complete.
    mutating func update(by head: ResponseHead, to request: CacheRequest, rules: CacheRules) {
        // The fields of a 416 describe its error page, except for the validator, which was compared.
        let fields = head.status == .rangeNotSatisfiable ? HTTPFields() : head.fields
        response = rules.freshened(
            response, by: fields, request: request.fields, redirects: head.storedRedirects, finalURL: head.finalURL,
            requestTime: head.requestTime, responseTime: head.responseTime)
    }

    /// Removes the validators. A response's validators prove nothing about a body that other responses began.
    mutating func removeValidators() {
        response.fields[.eTag] = nil
        response.fields[.lastModified] = nil
    }

    /// Makes the response stale from the start.
    mutating func removeLifetime() {
        response.fields[.expires] = nil
        response.fields[.cacheControl] = "max-age=0"
    }
}

extension CacheRules {
    /// Returns whether a response, as it is or would be stored, may answer other requests.
    package func storability(of response: StoredResponse, to request: CacheRequest) -> Storability {
        let message = HTTPResponse(status: response.status, headerFields: response.fields)
        return storability(
            of: message, to: request, redirects: response.redirects, receivedAt: response.responseTime)
    }
}

extension CacheRules {
    /// Returns true if only the credentials of its request keep a response from being stored for other requests.
    func isRefusedForCredentials(_ response: HTTPResponse, to request: CacheRequest, receivedAt: Date) -> Bool {
        guard request.hasCredentials, !storability(of: response, to: request, receivedAt: receivedAt).isStorable else {
            return false
        }
        var plain = request
        for name in [HTTPField.Name.authorization, .cookie] { plain.fields[name] = nil }
        return storability(of: response, to: plain, receivedAt: receivedAt).isStorable
    }
}

extension CacheRequest {
    /// True for a request with fields that tell who sends it.
    var hasCredentials: Bool { fields.contains(.cookie) || fields.contains(.authorization) }
}

extension ResponseHead {
    /// The redirects that led to this response, as the caching rules see them. `Location` is removed: later decisions do not need it, and it may
    /// contain a password.
    var storedRedirects: [StoredHead] {
        redirects.map { hop in
            var fields = hop.fields
            fields[.location] = nil
            return StoredHead(status: hop.status, fields: fields)
        }
    }
}
