import Digests
import DiskStore
import HTTPTypes
import TestSupport
import Testing
import TextIdentity

@testable import ImageCache

@Suite
struct StoreKeyTests {
    private static let url = "https://example.com/a?b=1"
    private static let zeros = String(repeating: "0", count: 64)

    // MARK: Format on disk

    @Test func `every kind of key has the text that stores have on disk`() throws {
        let anna = RequestKey(url: Self.url, namespace: .owner("anna b".asBytes))
        let digest = [UInt8](repeating: 0, count: 32)
        let query = RequestKey(url: Self.url, method: .query, contentDigest: digest)
        let expected = try #require(Digest(.sha256, digest))
        let texts: [(StoreKey, String)] = [
            (.response(RequestKey(url: Self.url)), "GET - - https://example.com/a?b=1"),
            (.response(RequestKey(url: Self.url, method: .head)), "GET - - https://example.com/a?b=1"),
            (.response(anna), "GET 12:owner:anna b - https://example.com/a?b=1"),
            (.response(query), "QUERY - 64:\(Self.zeros) https://example.com/a?b=1"),
            (.derivedImages(anna), "IMAGES-OF-GET 12:owner:anna b - https://example.com/a?b=1"),
            (anna.noVarySearch, "GET 12:owner:anna b - https://example.com/a search"),
            (.errorResponse(anna), "status GET 12:owner:anna b - https://example.com/a?b=1"),
            (.unresumable(.post, anna), "POST of GET 12:owner:anna b - https://example.com/a?b=1"),
            (.verified(expected, anna), "sha-256=\(Self.zeros) GET 12:owner:anna b - https://example.com/a?b=1"),
            (.value("a key".asBytes, .shared), "value - a key"),
            (.value("a key".asBytes, .owner("é".asBytes)), "value 8:owner:é a key"),
            (.list(owner: "o".asBytes, group: "".asBytes, name: "n m".asBytes), "list 1:o 0: n m"),
            (.transient(7), "transient 7"),
        ]
        for (key, text) in texts {
            #expect(key.text == text)
            #expect(StoreKey(text) == key)
        }
    }

    @Test func `every namespace has the text that stores have on disk`() {
        let texts: [(Namespace, String?)] = [
            (.shared, nil), (.owner("a:b".asBytes), "owner:a:b"), (.user("".asBytes), "user:"),
            (.credentials(digest: "0f".asBytes), "authorization:0f"), (.netrc(path: nil), "netrc"),
            (.netrc(path: "/a b".asBytes), "netrc:/a b"),
        ]
        for (namespace, text) in texts { #expect(namespace.text == text) }
    }

    // MARK: Properties

    private static let pieces = [
        "", "a", " ", "-", "- ", "1:", "0: ", "%20", "%", "\n", "\0", "é", "e\u{301}", "\u{301}", "\u{600}", "GET - - ",
        " search", "status ",
        "IMAGES-OF-", "value ", " of ", "sha-256=", "owner:", "user:", "netrc", "https://example.com/", "?",
        "\u{1F600}",
    ]
    private static let methods = [
        "GET", "HEAD", "POST", "QUERY", "get", "value", "status", "list", "transient", "of", "-", "IMAGES-OF-GET",
        "search",
    ]

    private func text(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in Self.pieces.randomElement(using: &random) ?? "" }
            .joined()
    }

    private func namespace(_ random: inout SeededGenerator) -> Namespace {
        let name = text(&random).asBytes
        return switch Int.random(in: 0...5, using: &random) {
        case 0: .owner(name)
        case 1: .user(name)
        case 2: .credentials(digest: name)
        case 3: .netrc(path: name)
        case 4: .netrc(path: nil)
        default: .shared
        }
    }

    private func method(_ random: inout SeededGenerator) -> HTTPRequest.Method {
        Self.methods.randomElement(using: &random).flatMap { HTTPRequest.Method($0) } ?? .get
    }

    private func key(_ random: inout SeededGenerator) -> StoreKey {
        let content: [UInt8]? =
            Bool.random(using: &random)
            ? nil : (0..<Int.random(in: 0...2, using: &random)).map { _ in .random(in: 0...1, using: &random) }
        let request = RequestKey(
            url: text(&random), method: method(&random), contentDigest: content, namespace: namespace(&random))
        let digest = Digest(.md5, [UInt8](repeating: .random(in: 0...1, using: &random), count: 16))
        return switch Int.random(in: 0...9, using: &random) {
        case 0: .derivedImages(request)
        case 1: .noVarySearch(request)
        case 2: request.noVarySearch
        case 3: .errorResponse(request)
        case 4: .unresumable(method(&random), request)
        case 5: digest.map { .verified($0, request) } ?? .transient(0)
        case 6: .value(text(&random).asBytes, request.namespace)
        case 7: .list(owner: text(&random).asBytes, group: text(&random).asBytes, name: text(&random).asBytes)
        case 8: .transient(.random(in: 0...3, using: &random))
        default: .response(request)
        }
    }

    @Test func `a key is read back from its text, and different keys have different texts`() throws {
        var random = SeededGenerator(for: "store keys")
        var known: [EntryKey: StoreKey] = [:]
        for _ in 0..<20_000 {
            let key = key(&random)
            let text = key.text
            try #require(StoreKey(text) == key, "\(text.debugDescription)")
            if let other = known.updateValue(key, forKey: EntryKey(key)) {
                try #require(other == key, "\(text.debugDescription)")
            }
        }
    }

    @Test func `random text is not a key, or is the text of the key`() throws {
        var random = SeededGenerator(for: "texts of store keys")
        for _ in 0..<20_000 {
            let text = text(&random) + " " + text(&random)
            if let key = StoreKey(text) { try #require(key.text.hasSameBytes(as: text)) }
        }
    }

    @Test func `requests of different namespaces never share a key`() {
        let names = [
            "", "-", "a", "a -", "- -", "1:a", "é", "e\u{301}", "a\0", "a\n", "%61", "a - https://example.com/a",
        ]
        var namespaces: [Namespace] = [.shared, .netrc(path: nil)]
        for name in names.map(\.asBytes) {
            namespaces += [.owner(name), .user(name), .credentials(digest: name), .netrc(path: name)]
        }
        let urls = ["https://example.com/a", "- https://example.com/a", "é", "", " ", "1:a - https://example.com/a"]
        var owners: [EntryKey: Namespace] = [:]
        for namespace in namespaces {
            for url in urls {
                let request = RequestKey(url: url, namespace: namespace)
                for key in request.removedKeys + [EntryKey(.errorResponse(request))] {
                    #expect(owners.updateValue(namespace, forKey: key).map { $0 == namespace } ?? true)
                    #expect(StoreKey(key.value)?.namespace == namespace)
                }
            }
        }
    }

    @Test(
        arguments: [
            "", " ", "GET", "GET -", "GET - ", "GET - -", "- - https://example.com/", "GET  - https://example.com/",
            "GET - - https://example.com/ a", "GET x - https://example.com/", "GET 1:owner:a - https://example.com/",
            "GET +7:owner:a - https://example.com/", "GET 07:owner:a - https://example.com/",
            "GET -1: - https://example.com/", "GET 99:owner:a - https://example.com/",
            "GET 9223372036854775808:a - https://example.com/", "GET 7:other:a - https://example.com/",
            "GET 1:a - https://example.com/", "GET - 2:AB https://example.com/", "GET - 2:xy https://example.com/",
            "GET - 1:a https://example.com/", "G(T - - https://example.com/", ":GET - - https://example.com/",
            "IMAGES-OF-", "IMAGES-OF-GET - -", "status", "status GET", "sha-256=00 GET - - https://example.com/",
            "sha-3=00 GET - - https://example.com/", "POST of", "HEAD - - https://example.com/", "value", "value -",
            "value 1:a b", "list 1:a b", "list - 1:a b", "transient", "transient -1", "transient 01", "transient a",
            "transient 18446744073709551616", "GET - - https://example.com/ search ",
            "GET 8:owner:\u{E9}- - https://example.com/",
        ])
    func `text that is not a key is rejected`(text: String) {
        #expect(StoreKey(text) == nil)
    }

    @Test func `requests for bodies that may be equal differ only in their URLs`() {
        let one = RequestKey(url: Self.url, contentDigest: [1], namespace: .owner("a".asBytes))
        #expect(one.isEqualExceptForURL(to: RequestKey(url: "x", contentDigest: [1], namespace: .owner("a".asBytes))))
        #expect(!one.isEqualExceptForURL(to: one.in(.user("a".asBytes))))
        #expect(!one.isEqualExceptForURL(to: RequestKey(url: "x", namespace: .owner("a".asBytes))))
    }
}
