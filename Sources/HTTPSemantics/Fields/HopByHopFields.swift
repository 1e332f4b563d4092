package import HTTPTypes

/// Fields that apply to one connection or one proxy, and are neither forwarded nor stored (RFC 9110 section 7.6.1, RFC
/// 9111 section 3.1).
package enum HopByHopFields {
    /// Returns true if the name, in lower case, is always hop-by-hop; `Connection` may name others.
    package static func contains(_ canonicalName: String) -> Bool {
        // Lengths are compared first, because every field of every message passes here.
        switch canonicalName.utf8.count {
        case 2: canonicalName == "te"
        case 7: canonicalName == "upgrade"
        case 10: canonicalName == "connection" || canonicalName == "keep-alive"
        case 16: canonicalName == "proxy-connection"
        case 17: canonicalName == "transfer-encoding"
        case 18: canonicalName == "proxy-authenticate"
        case 19: canonicalName == "proxy-authorization"
        case 25: canonicalName == "proxy-authentication-info"
        default: false
        }
    }

    /// The fields that `Connection` names, in lower case; `close` and `keep-alive` are not field names.
    static func names(in fields: HTTPFields) -> Set<String> {
        var names: Set<String> = []
        fields.forEachMember(of: "connection") { member in
            if !member.isName("close"), !member.isName("keep-alive") { names.insert(member.lowercasedString) }
        }
        return names
    }
}

extension HTTPFields {
    /// The end-to-end fields, which an intermediary forwards: those that do not apply to one connection or one proxy.
    ///
    /// - Parameter isExcluded: Excludes further fields, by name in lower case.
    package func endToEnd(excluding isExcluded: (String) -> Bool = { _ in false }) -> HTTPFields {
        let named = HopByHopFields.names(in: self)
        var result = HTTPFields()
        result.reserveCapacity(count)
        for field in self {
            let name = field.name.canonicalName
            if HopByHopFields.contains(name) || named.contains(name) || isExcluded(name) { continue }
            result.append(field)
        }
        return result
    }
}
