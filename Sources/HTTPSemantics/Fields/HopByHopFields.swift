package import HTTPTypes

/// Fields that are for one connection, or for one proxy, and are neither passed on nor stored (RFC 9110 section 7.6.1, RFC 9111
/// section 3.1).
package enum HopByHopFields {
    /// Whether a field is one by its name, in lower case; `Connection` may name others.
    package static func contains(_ canonicalName: String) -> Bool {
        // By length first: every field of every message is looked at.
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

    /// The fields that `Connection` names, in lower case; `close` and `keep-alive` are no fields' names.
    static func names(in fields: HTTPFields) -> [String] {
        var names: [String] = []
        fields.forEachMember(of: "connection") { member in
            if !member.isName("close"), !member.isName("keep-alive") { names.append(member.lowercasedString) }
        }
        return names
    }
}

extension HTTPFields {
    /// The fields that are for the recipient of a message, and not for one connection or one proxy: what an intermediary passes on.
    ///
    /// - Parameter isExcluded: Leaves out more, by the name in lower case.
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
