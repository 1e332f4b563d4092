import HTTPCaching
import HTTPSemantics
import TestSupport
import Testing

/// Which URLs responses are stored under.
struct KeyRulesTests {
    private static let s3 =
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261122%2Feu&X-Amz-Date=20261122T000000Z&X-Amz-Expires=60"
        + "&X-Amz-SignedHeaders=host&X-Amz-Signature="
    private static let google =
        "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=c&X-Goog-Date=1&X-Goog-Expires=9&X-Goog-SignedHeaders=host"
        + "&X-Goog-Signature="
    private static let azure = "sp=r&sv=2018-11-09&sr=b&se=2026-11-22T00%3A00%3A00Z&sig="
    private static let cloudFront = "Expires=1&Key-Pair-Id=K&Signature="
    private static let akamai = "hdnts=exp=1~acl=/*~hmac="
    private static let signatures = [s3, google, azure, cloudFront, akamai]

    @Test(arguments: signatures)
    func `a private cache leaves a signature with all of its marks out of the key`(signature: String) {
        let rules = CacheRules()
        #expect(rules.keyURL(of: "https://a.example/f?\(signature)01") == "https://a.example/f")
        #expect(rules.keyURL(of: "https://A.example/f?v=1&\(signature)02") == "https://a.example/f?v=1")
    }

    @Test(arguments: signatures)
    func `a shared cache does so only at the hosts that are named`(signature: String) {
        var rules = CacheRules(mode: .shared)
        let url = "https://a.example/f?\(signature)01"
        #expect(rules.keyURL(of: url) == HTTPURL.normalized(url))
        rules.keys.signedHosts = ["*.b.example"]
        #expect(rules.keyURL(of: url) == HTTPURL.normalized(url))
        rules.keys.signedHosts.append("a.example")
        #expect(rules.keyURL(of: url) == "https://a.example/f")
        #expect(rules.keyURL(of: "https://x.b.example/f?\(signature)01") == "https://x.b.example/f")
        #expect(rules.keyURL(of: "https://b.example/f?\(signature)01") != "https://b.example/f")
    }

    @Test(
        arguments: [
            "X-Amz-Credential=a&X-Amz-Signature=b", "Signature=s&Expires=1", "sv=large&sig=a", "sig=a&se=1", "hdnts=1",
            "X-Goog-Signature=1", "Key-Pair-Id=K&Signature=s", "token=1",
        ])
    func `a part of the marks is no signature`(query: String) {
        #expect(CacheRules().keyURL(of: "https://a.example/f?\(query)") == "https://a.example/f?\(query)")
    }

    @Test func `a private cache can be told to keep signatures`() {
        var rules = CacheRules()
        rules.keys.recognizesSignatures = false
        let url = "https://a.example/f?\(Self.akamai)01"
        #expect(rules.keyURL(of: url) == url)
    }

    @Test(
        arguments: [
            ("https://a.example/f?token=1&v=2", "https://a.example/f?v=2"),
            ("https://a.example/f?token=1&token=2", "https://a.example/f"),
            ("https://a.example/f?utm_source=x&v=2&utm_medium=", "https://a.example/f?v=2"),
            ("https://a.example/f?xsessionidx=1&session=2", "https://a.example/f?session=2"),
            ("https://a.example/f?Token=1", "https://a.example/f?Token=1"),
            ("https://a.example/f?my_utm_source=1", "https://a.example/f?my_utm_source=1"),
            ("https://b.example/f?token=1&utm_source=2", "https://b.example/f?token=1"),
        ])
    func `parameters are ignored by name and pattern, and at the hosts that are given`(url: String, key: String) {
        var rules = CacheRules()
        rules.keys.ignored = [
            .init(ignoring: ["token"], hosts: ["a.example"]), .init(ignoring: ["utm_*", "*session*id*"]),
        ]
        #expect(rules.keyURL(of: url) == key)
    }

    @Test func `where the order does not matter, parameters of one name keep theirs`() {
        var rules = CacheRules()
        rules.keys.unorderedHosts = ["a.example"]
        #expect(rules.keyURL(of: "https://a.example/f?b=2&a=2&b=1&a=1") == "https://a.example/f?a=2&a=1&b=2&b=1")
        #expect(rules.keyURL(of: "https://b.example/f?b=2&a=2") == "https://b.example/f?b=2&a=2")
    }

    @Test func `what is ignored does not tell resources apart either`() {
        var rules = CacheRules()
        rules.keys.ignored = [.init(ignoring: ["token"], hosts: ["a.example"])]
        let resources = rules.resourceParameters
        #expect(resources.isSameResource("https://a.example/f?token=1", "https://a.example/f?token=2"))
        #expect(!resources.isSameResource("https://b.example/f?token=1", "https://b.example/f?token=2"))
        #expect(!resources.isSameResource("https://a.example/f?token=1", "https://a.example/g?token=1"))
    }

    @Test func `a key URL is its own key URL, and joins only URLs whose unsigned parts are equal`() throws {
        var random = SeededGenerator(for: "key rules")
        for _ in 0..<1000 {
            let rules = Self.rules(&random)
            let first = try HTTPURL(Self.url(&random))
            let second = try HTTPURL(Self.url(&random))
            let key = rules.keyURL(of: first)
            #expect(rules.keyURL(of: key) == key, "\(first)")
            #expect(try HTTPURL(key).normalized == key, "\(first)")
            let isUnordered = rules.keys.unorderedHosts.contains { $0.matches(first.host) }
            let unsigned = (Self.unsigned(first, rules, isUnordered), Self.unsigned(second, rules, isUnordered))
            #expect((key == rules.keyURL(of: second)) == (unsigned.0 == unsigned.1), "\(first) \(second)")
        }
    }

    // MARK: A model

    /// The parts that must be equal in URLs with one key, worked out in another way: parameter by parameter.
    private static func unsigned(_ url: HTTPURL, _ rules: CacheRules, _ isUnordered: Bool) -> [String] {
        let place = url.origin + url.path
        guard let query = url.query else { return [place] }
        let parameters = query.split(separator: "&", omittingEmptySubsequences: false).map(String.init)
        let names = parameters.map { String($0.prefix { $0 != "=" }) }
        let isSigned = rules.mode == .private || rules.keys.signedHosts.contains { $0.matches(url.host) }
        let hasCloudFront = ["Expires", "Key-Pair-Id", "Signature"].allSatisfy { name in
            let found = parameters.filter { $0.hasPrefix(name + "=") || $0 == name }
            return found.count == 1 && found[0].count > name.count + 1
        }
        let ignoresToken = rules.keys.ignored.contains {
            $0.hosts.isEmpty || $0.hosts.contains { $0.matches(url.host) }
        }
        var rest: [(name: String, text: String)] = []
        for (name, text) in zip(names, parameters) {
            if ignoresToken, name.hasPrefix("tok") { continue }
            if isSigned, hasCloudFront, ["Expires", "Key-Pair-Id", "Signature", "Hash-Algorithm"].contains(name) {
                continue
            }
            rest.append((name, text))
        }
        if rest.isEmpty { return [place] }
        if isUnordered {
            rest = rest.enumerated().sorted {
                ($0.element.name, $0.offset) < ($1.element.name, $1.offset)
            }.map(\.element)
        }
        return [place, "?"] + rest.map(\.text)
    }

    private static func rules(_ random: inout SeededGenerator) -> CacheRules {
        var rules = CacheRules(mode: Bool.random(using: &random) ? .private : .shared)
        if Bool.random(using: &random) { rules.keys.signedHosts = ["a.example"] }
        if Bool.random(using: &random) { rules.keys.unorderedHosts = ["*.example"] }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: rules.keys.ignored = [.init(ignoring: ["tok*"], hosts: ["b.example"])]
        case 1: rules.keys.ignored = [.init(ignoring: ["tok*"])]
        default: break
        }
        return rules
    }

    private static func url(_ random: inout SeededGenerator) -> String {
        let pieces = [
            "", "a=1", "a=2", "b=1", "tok=1", "token=2", "Expires=1", "Expires=2", "Key-Pair-Id=K", "Signature=x",
            "Signature=y", "Signature", "Hash-Algorithm=h", "%7e=%2f", "a",
        ]
        let host = ["a.example", "b.example"].randomElement(using: &random) ?? ""
        guard Int.random(in: 0..<6, using: &random) > 0 else { return "https://\(host)/f" }
        var parameters = (0..<Int.random(in: 0..<4, using: &random)).compactMap { _ in
            pieces.randomElement(using: &random)
        }
        if Bool.random(using: &random) { parameters += ["Expires=1", "Key-Pair-Id=K", "Signature=z"] }
        return "https://\(host)/f?" + parameters.shuffled(using: &random).joined(separator: "&")
    }
}
