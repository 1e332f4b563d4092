import HTTPCaching
import HTTPSemantics
import HTTPTypes

extension StoredResponse {
    /// The response for other requests than the one that received it: its cookies are empty.
    var withEmptyCookies: StoredResponse {
        var response = self
        response.fields = fields.withEmptyCookies
        response.redirects = redirects.map { StoredHead(status: $0.status, fields: $0.fields.withEmptyCookies) }
        return response
    }
}

extension HTTPResponse {
    /// The head with the cookies of the response that it is made of, for the request that received that response.
    func withCookies(of response: StoredResponse) -> HTTPResponse {
        var head = self
        head.headerFields.append(contentsOf: response.fields.cookies)
        return head
    }
}
