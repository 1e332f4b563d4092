import HTTPSemantics
import HTTPTypes
import RawStructuredFieldValues

extension ResponseDirectives {
    /// The directives of the first targeted field that is present, valid and not empty (RFC 9213 section 2.1); `nil` if
    /// there is none, so that `Cache-Control` applies.
    ///
    /// A targeted field is a dictionary (RFC 8941): where a key occurs twice the last one counts, parameters are ignored,
    /// and a field that cannot be parsed, or is too long to be read, is ignored as a whole.
    init?(targeted names: [String], in fields: HTTPFields) {
        for name in names {
            guard let value = StructuredField.joined(name, in: fields) else { continue }
            var parser = StructuredFieldValueParser(value)
            guard let dictionary = try? parser.parseDictionaryFieldValue(),
                dictionary.first(where: { _ in true }) != nil
            else { continue }
            self.init()
            for (key, member) in dictionary { add(key: key, member) }
            return
        }
        return nil
    }

    private mutating func add(key: String, _ member: ItemOrInnerList) {
        // "Implementations SHOULD NOT consume values that violate these inferred constraints" (RFC 9213 section 2.1): a
        // value of another type is ignored.
        guard case .item(let item) = member else { return }
        switch key {
        case "max-age": maxAge = seconds(item.rfc9651BareItem)
        case "s-maxage": sharedMaxAge = seconds(item.rfc9651BareItem)
        case "stale-while-revalidate": staleWhileRevalidate = seconds(item.rfc9651BareItem)
        case "stale-if-error": staleIfError = seconds(item.rfc9651BareItem)
        case "no-cache":
            if let names = fieldNames(item.rfc9651BareItem) {
                noCacheFields += names
            } else {
                insert(.noCache, item.rfc9651BareItem)
            }
        case "private":
            if let names = fieldNames(item.rfc9651BareItem) {
                privateFields += names
            } else {
                insert(.private, item.rfc9651BareItem)
            }
        case "no-store": insert(.noStore, item.rfc9651BareItem)
        case "public": insert(.public, item.rfc9651BareItem)
        case "must-revalidate": insert(.mustRevalidate, item.rfc9651BareItem)
        case "proxy-revalidate": insert(.proxyRevalidate, item.rfc9651BareItem)
        case "must-understand": insert(.mustUnderstand, item.rfc9651BareItem)
        case "immutable": insert(.immutable, item.rfc9651BareItem)
        case "no-transform": insert(.noTransform, item.rfc9651BareItem)
        default: break
        }
    }

    private func seconds(_ item: RFC9651BareItem) -> DirectiveSeconds {
        guard case .integer(let value) = item, value >= 0 else { return .absent }
        return .seconds(Int(min(value, Int64(DeltaSeconds.greatest))))
    }

    private func fieldNames(_ item: RFC9651BareItem) -> [String]? {
        guard case .string(var text) = item else { return nil }
        var names: [String] = []
        var isValid = true
        text.withUTF8 { bytes in
            forEachListMember(bytes) { member in
                if member.allSatisfy(\.isTokenCharacter) {
                    names.append(member.lowercasedString)
                } else {
                    isValid = false
                }
            }
        }
        return isValid && !names.isEmpty ? names : nil
    }

    private mutating func insert(_ flag: Flags, _ item: RFC9651BareItem) {
        if case .bool(true) = item { flags.insert(flag) }
    }
}
