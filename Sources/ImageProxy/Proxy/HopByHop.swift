import HTTPServer
import HTTPTypes

/// Fields that are for one connection only and are not passed on (RFC 9110 section 7.6.1).
enum HopByHop {
    /// The fields of a request that are for the origin: those for one connection are left out, and those of ``ClientAssertions``.
    ///
    /// - Parameter passed: names, in lower case, of assertions that are passed on all the same.
    static func endToEnd(_ head: RequestHead, passing passed: Set<String> = []) -> HTTPFields {
        let named = namesInConnection(head.fields)
        var fields = HTTPFields()
        for field in head.fields {
            let name = field.name.canonicalName
            guard !isOneConnections(name), !named.contains(name) else { continue }
            guard !ClientAssertions.contains(name) || passed.contains(name) else { continue }
            fields.append(field)
        }
        return fields
    }

    /// The fields that Connection names; its other options are no fields.
    private static func namesInConnection(_ fields: HTTPFields) -> [String] {
        var named: [String] = []
        for field in fields where field.name == .connection {
            for option in ListedTokens(field.value) {
                let name = option.lowercased()
                if name != "close", name != "keep-alive" { named.append(name) }
            }
        }
        return named
    }

    /// The fields that are known by name; by length first, because every field of every request is looked at. `Host` and
    /// `Content-Length` are set anew, `Expect` has been met here, `Max-Forwards` is counted, and Proxy-Authorization is for this
    /// proxy, which asks for none.
    private static func isOneConnections(_ name: String) -> Bool {
        switch name.utf8.count {
        case 2: name == "te"
        case 4: name == "host"
        case 6: name == "expect"
        case 7: name == "trailer" || name == "upgrade"
        case 10: name == "connection" || name == "keep-alive"
        case 12: name == "max-forwards"
        case 14: name == "content-length"
        case 16: name == "proxy-connection"
        case 17: name == "transfer-encoding"
        case 18: name == "proxy-authenticate"
        case 19: name == "proxy-authorization"
        default: false
        }
    }
}
