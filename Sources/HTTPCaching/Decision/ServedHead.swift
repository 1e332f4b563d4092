import HTTPSemantics
public import HTTPTypes

extension CacheRules {
    /// The head of a response from the store: the stored fields with the present `Age` (RFC 9111 section 4), and the
    /// fields that a 206, 304 or 416 needs. Cookies are left out: `Set-Cookie` is for the client whose request received the response.
    public func head(of served: ServedResponse, from stored: StoredResponse) -> HTTPResponse {
        var fields = HTTPFields()
        fields.reserveCapacity(stored.fields.count + 2)
        let withheld = Set(served.withheldFields)
        for field in stored.fields {
            let name = field.name.canonicalName
            // "Last-Modified might be useful if the response does not have an ETag field" (RFC 9110 section 15.4.5).
            if name == "last-modified", served.status == .notModified, stored.fields.contains(.eTag) { continue }
            if name == "age" || field.setsCookie || withheld.contains(name)
                || !CacheRules.belongs(name, to: served)
            {
                continue
            }
            fields.append(field)
        }
        fields[.age] = String(max(0, served.age))
        switch served.body {
        case .range(let range, let total):
            fields[.contentRange] = ContentRange.range(range, total: total).text
            fields[.contentLength] = String(range.upperBound - range.lowerBound)
        case .none where served.status == .rangeNotSatisfiable:
            let length: Int64? =
                if case .complete(let length) = stored.extent { length ?? ContentLength.value(of: stored.fields) } else
                { nil }
            fields[.contentRange] = length.map { ContentRange.unsatisfied(total: $0).text }
            fields[.contentLength] = "0"
        case .whole, .none: break
        }
        return HTTPResponse(status: served.status, headerFields: fields)
    }

    private static func belongs(_ name: String, to served: ServedResponse) -> Bool {
        switch served.status {
        case .notModified:
            // "SHOULD NOT generate representation metadata other than" these, which a 200 would have contained: RFC
            // 9110 15.4.5.
            return !describesContent(name) && !describesWhole(name)
        case .rangeNotSatisfiable:
            return !describesContent(name) && !describesWhole(name) && name != "repr-digest"
        case .partialContent: return !describesContent(name)
        default: return true
        }
    }

    /// Returns true for a field about the content of one message, whole or part.
    private static func describesContent(_ name: String) -> Bool {
        name == "content-length" || name == "content-range" || name == "content-digest"
    }

    /// Returns true for a field about the representation that a 304 and a 416 do not contain.
    private static func describesWhole(_ name: String) -> Bool {
        name == "content-type" || name == "content-encoding" || name == "content-language"
    }
}
