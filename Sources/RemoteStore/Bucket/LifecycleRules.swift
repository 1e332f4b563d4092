import XMLParsing

/// The lifecycle rules of a bucket (PutBucketLifecycleConfiguration): foreign rules verbatim, and one rule of this package for each class.
package struct LifecycleRules: Sendable, Hashable {
    /// The expiry of a class of objects.
    package struct Expiry: Sendable, Hashable {
        /// The prefix of their keys in the bucket.
        package var prefix: String
        package var days: Int

        package init(prefix: String, days: Int) {
            self.prefix = prefix
            self.days = days
        }
    }

    private struct Rule: Sendable, Hashable {
        var id: String?
        var source: String
    }

    private static let idPrefix = "imgcache:"
    private static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
    private var rules: [Rule] = []

    package init() {}

    /// Returns nil if the bytes are not a lifecycle configuration.
    init?(_ document: [UInt8]) throws(XMLReader.Failure) {
        let root = try XMLElement.parse(document)
        guard root.name == "LifecycleConfiguration" else { return nil }
        rules = root.children("Rule").map { Rule(id: $0.text(of: "ID"), source: $0.source(in: document)) }
    }

    package var count: Int { rules.count }

    /// Sets the rule for each class. It replaces the rule that an earlier call has made for the same prefix.
    package mutating func set(_ expiries: [Expiry]) {
        for expiry in expiries {
            let id = Self.idPrefix + expiry.prefix
            let rule = Rule(id: id, source: Self.source(id, expiry))
            if let index = rules.firstIndex(where: { $0.id == id }) { rules[index] = rule } else { rules.append(rule) }
        }
    }

    /// True if this package has set a rule for a prefix.
    package func hasRule(forPrefix prefix: String) -> Bool { rules.contains { $0.id == Self.idPrefix + prefix } }

    var document: String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LifecycleConfiguration xmlns=\"\(Self.namespace)\">"
            + rules.map(\.source).joined() + "</LifecycleConfiguration>"
    }

    private static func source(_ id: String, _ expiry: Expiry) -> String {
        "<Rule><ID>\(escaped(id))</ID><Filter><Prefix>\(escaped(expiry.prefix))</Prefix></Filter>"
            + "<Status>Enabled</Status><Expiration><Days>\(expiry.days)</Days></Expiration></Rule>"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
        return result
    }
}
