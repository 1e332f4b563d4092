package import HTTPTypes

extension HTTPField {
    /// True for a field that gives a client a cookie (RFC 6265 section 4.1; `Set-Cookie2`: RFC 2965).
    package var setsCookie: Bool { name == .setCookie || name.canonicalName == "set-cookie2" }
}

extension HTTPFields {
    /// The fields with the cookies left empty. The names remain: a response that sets a cookie may be meant for one client.
    package var withEmptyCookies: HTTPFields {
        guard contains(where: \.setsCookie) else { return self }
        var fields = HTTPFields()
        fields.reserveCapacity(count)
        for field in self { fields.append(field.setsCookie ? HTTPField(name: field.name, value: "") : field) }
        return fields
    }

    /// The fields that give a client a cookie.
    package var cookies: [HTTPField] { filter { $0.setsCookie && !$0.value.isEmpty } }
}
