import HTTPSemantics
import HTTPTypes

/// The mirrors that a response announces in `Link` fields with the relation `duplicate` (RFC 6249 section 3, RFC 8288).
enum DuplicateLinks {
    /// The limit of mirrors from one response; further ones are ignored.
    private static let most = 100

    /// - Parameter base: The URL of the response, which relative links are resolved against.
    static func mirrors(in fields: HTTPFields, base: String) -> [Mirror] {
        guard let base = try? HTTPURL(base) else { return [] }
        var mirrors: [Mirror] = []
        fields.forEachMember(of: "link") { member in
            guard mirrors.count < most else { return }
            let text = String(decoding: member, as: UTF8.self)
            guard let mirror = mirror(text, base: base) else { return }
            mirrors.append(mirror)
        }
        return mirrors
    }

    private static func mirror(_ text: String, base: HTTPURL) -> Mirror? {
        guard text.first == "<", let end = text.firstIndex(of: ">") else { return nil }
        let reference = String(text[text.index(after: text.startIndex)..<end])
        guard let url = try? HTTPURL(reference: reference, relativeTo: base) else { return nil }
        var isDuplicate = false
        var priority = 999_999
        for parameter in text[text.index(after: end)...].split(separator: ";") {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let words = parts[1].split { $0 == " " || $0 == "\t" || $0 == "\"" }.map { $0.lowercased() }
            switch parts[0].filter({ $0 != " " && $0 != "\t" }).lowercased() {
            case "rel": isDuplicate = isDuplicate || words.contains("duplicate")
            case "pri":
                priority = words.first.flatMap { Int($0) }.flatMap { (1...999_999).contains($0) ? $0 : nil } ?? priority
            default: break
            }
        }
        return isDuplicate ? Mirror(url.text, priority: priority) : nil
    }
}
