import HTTPCaching
import HTTPSemantics
import HTTPTypes

extension StoredResponse {
    /// The response for other requests than the one that received it: its cookies are empty, and it lacks the fields that its directives keep
    /// from them.
    var withEmptyCookies: StoredResponse {
        var response = self
        let names = Set(requesterFields.map(\.name.canonicalName))
        response.fields.removeAll { !$0.setsCookie && names.contains($0.name.canonicalName) }
        response.requesterFields = []
        response.fields = response.fields.withEmptyCookies
        response.redirects = redirects.map { StoredHead(status: $0.status, fields: $0.fields.withEmptyCookies) }
        return response
    }
}

extension HTTPResponse {
    /// The head with the cookies of the response that it is made of, and the fields that its directives keep from other requests, for the
    /// request that received that response.
    func withCookies(of response: StoredResponse) -> HTTPResponse {
        var head = self
        for fields in [response.fields.cookies, response.requesterFields] {
            let missing = fields.filter { !head.headerFields.contains($0.name) }
            head.headerFields.append(contentsOf: missing)
        }
        return head
    }
}
