import HTTPTypes

/// Fields that are for one connection only and are not passed on (RFC 9110 section 7.6.1).
enum HopByHop {
    /// Those known by name. `Host` and `Content-Length` are set anew, `Expect` has been met here, and Proxy-Authorization is for
    /// this proxy, which asks for none.
    private static let names: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
    private static let requestNames: Set<String> = ["host", "content-length", "expect", "max-forwards"]

    /// The fields of a request that are for the origin.
    static func endToEnd(_ head: RequestHead) -> HTTPFields {
        var named: Set<String> = []
        for field in head.fields where field.name == .connection {
            for option in ListedTokens(field.value) { named.insert(option.lowercased()) }
        }
        var fields = HTTPFields()
        for field in head.fields {
            let name = field.name.canonicalName
            guard !requestNames.contains(name), !names.contains(name), !named.contains(name) else { continue }
            fields.append(field)
        }
        return fields
    }
}
