package import Digests
package import DiskStore
package import HTTPTypes
package import TextIdentity

/// A key in the store. This type creates, parses and compares all of them.
///
/// | kind | text | used for |
/// |---|---|---|
/// | ``response(_:)`` | `METHOD NAMESPACE CONTENT URL` | entries, partials, locks and pins of responses |
/// | ``derivedImages(_:)`` | `IMAGES-OF-METHOD NAMESPACE CONTENT URL` | images and other files made from the response |
/// | ``noVarySearch(_:)`` | `METHOD NAMESPACE CONTENT URL search` | responses that do not vary on their whole query; the URL has no query |
/// | ``errorResponse(_:)`` | `status METHOD NAMESPACE CONTENT URL` | the partial of a response whose status is not 200 |
/// | ``unresumable(_:_:)`` | `REQUESTMETHOD of METHOD NAMESPACE CONTENT URL` | the partial of a body that no later request resumes |
/// | ``verified(_:_:)`` | `ALGORITHM=HEX METHOD NAMESPACE CONTENT URL` | the partial of a body from mirrors, verified by a digest |
/// | ``value(_:_:)`` | `value NAMESPACE NAME` | a value of the application |
/// | ``list(owner:group:name:)`` | `list LENGTH:OWNER LENGTH:GROUP NAME` | the lock of a list of records |
/// | ``transient(_:)`` | `transient NUMBER` | a body that is not found by look-ups |
///
/// * METHOD is the request's method; HEAD counts as GET. A method that equals the first word of another kind has a colon in front.
/// * NAMESPACE is `-` for the shared one, otherwise `LENGTH:TEXT` with a length in bytes (``Namespace``).
/// * CONTENT is `-`, or `LENGTH:HEX` with the digest of the request's content if the response depends on it.
/// * URL is a normalised URL. A space, which is invalid in URLs, is written as `%20`.
///
/// Different keys have different texts, so requests in different namespaces never share an entry. Keys are compared by bytes.
package enum StoreKey: Sendable, Hashable {
    case response(RequestKey)
    case derivedImages(RequestKey)
    case noVarySearch(RequestKey)
    case errorResponse(RequestKey)
    case unresumable(HTTPRequest.Method, RequestKey)
    case verified(Digest, RequestKey)
    case value(ByteText, Namespace)
    case list(owner: ByteText, group: ByteText, name: ByteText)
    case transient(UInt64)

    /// A unique key.
    static var transient: StoreKey { .transient(.random(in: .min ... .max)) }

    /// The namespace of the key; `nil` for a kind without one.
    package var namespace: Namespace? {
        switch self {
        case .response(let request), .derivedImages(let request), .noVarySearch(let request),
            .errorResponse(let request), .unresumable(_, let request), .verified(_, let request):
            request.namespace
        case .value(_, let namespace): namespace
        case .list, .transient: nil
        }
    }

    // MARK: Text

    fileprivate static let derivedPrefix = "IMAGES-OF-"
    fileprivate static let searchSuffix = " search"
    fileprivate static let words = ["list", "status", "transient", "value"]

    /// The key's text in the store.
    package var text: String {
        switch self {
        case .response(let request): return request.text()
        case .derivedImages(let request): return request.text(after: Self.derivedPrefix)
        case .noVarySearch(let request): return request.text(before: Self.searchSuffix)
        case .errorResponse(let request): return request.text(after: "status ")
        case .unresumable(let method, let request): return request.text(after: "\(method.word) of ")
        case .verified(let digest, let request):
            return request.text(after: "\(digest.algorithm.rawValue)=\(digest.hexadecimal) ")
        case .value(let name, let namespace):
            var text = "value "
            text.append(part: namespace.text)
            return text + name.wrappedValue
        case .list(let owner, let group, let name):
            var text = "list "
            text.append(part: owner.wrappedValue)
            text.append(part: group.wrappedValue)
            return text + name.wrappedValue
        case .transient(let number): return "transient \(number)"
        }
    }

    /// Parses a key; `nil` for a text that is not a key.
    package init?(_ text: String) {
        guard let key = StoreKey(reading: KeyReader(text)), key.text.hasSameBytes(as: text) else { return nil }
        self = key
    }

    /// Parses any text that resembles a key. The caller compares it with the text of the result to reject others.
    private init?(reading text: KeyReader) {
        var rest = text
        guard let word = rest.word() else { return nil }
        switch word {
        case "value":
            guard let part = rest.part(), let namespace = Namespace(part) else { return nil }
            self = .value(rest.text.asBytes, namespace)
            return
        case "list":
            guard let owner = rest.part() ?? nil, let group = rest.part() ?? nil else { return nil }
            self = .list(owner: owner.asBytes, group: group.asBytes, name: rest.text.asBytes)
            return
        case "transient":
            guard let number = UInt64(rest.text) else { return nil }
            self = .transient(number)
            return
        case "status":
            guard let request = rest.request() else { return nil }
            self = .errorResponse(request)
            return
        default: break
        }
        if word.hasPrefix(Self.derivedPrefix) {
            var images = text
            images.skip(Self.derivedPrefix.utf8.count)
            guard let request = images.request() else { return nil }
            self = .derivedImages(request)
        } else if let mark = word.utf8.firstIndex(of: UInt8(ascii: "=")) {
            guard let algorithm = DigestAlgorithm(rawValue: String(word[..<mark])),
                let digest = Digest(algorithm, hexadecimal: word[word.utf8.index(after: mark)...]),
                let request = rest.request()
            else { return nil }
            self = .verified(digest, request)
        } else if rest.skipWord("of") {
            guard let method = HTTPRequest.Method(word: word), let request = rest.request() else { return nil }
            self = .unresumable(method, request)
        } else {
            var response = text
            let suffix = Self.searchSuffix.utf8
            let isSearch = text.text.utf8.suffix(suffix.count).elementsEqual(suffix)
            if isSearch { response.drop(suffix.count) }
            guard let request = response.request() else { return nil }
            self = isSearch ? .noVarySearch(request) : .response(request)
        }
    }
}

/// The parts of a request that its keys consist of.
package struct RequestKey: Sendable, Hashable {
    package let method: HTTPRequest.Method
    package let namespace: Namespace
    /// The digest of the request's content, if the response depends on it.
    package let contentDigest: [UInt8]?
    @ByteText package private(set) var url: String

    /// - Parameters:
    ///   - url: The normalised URL.
    ///   - method: HEAD counts as GET. Pass GET for a response to POST that later GETs may use (RFC 9110 section 9.3.3).
    ///   - contentDigest: The digest of the request's content, if the response depends on it.
    package init(
        url: String, method: HTTPRequest.Method = .get, contentDigest: [UInt8]? = nil, namespace: Namespace = .shared
    ) {
        self.method = method == .head ? .get : method
        self.namespace = namespace
        self.contentDigest = contentDigest
        _url = url.utf8.contains(Self.space) ? Self.escapingSpaces(url).asBytes : url.asBytes
    }

    private static let space = UInt8(ascii: " ")

    // By bytes: a space with a combining mark is one character.
    private static func escapingSpaces(_ url: String) -> String {
        String(decoding: url.utf8.flatMap { $0 == space ? Array("%20".utf8) : [$0] }, as: UTF8.self)
    }

    /// The key of responses that do not vary on their whole query.
    package var noVarySearch: StoreKey {
        .noVarySearch(
            RequestKey(
                url: RemovalTarget.place(of: url), method: method, contentDigest: contentDigest, namespace: namespace))
    }

    /// The keys to remove with the URL: its responses, responses of equivalent URLs, and images made from them.
    package var removedKeys: [EntryKey] { [.response(self), .derivedImages(self), noVarySearch].map { EntryKey($0) } }

    /// The same request in another namespace.
    func `in`(_ namespace: Namespace) -> RequestKey {
        RequestKey(url: url, method: method, contentDigest: contentDigest, namespace: namespace)
    }

    /// Returns true if the other request differs at most in its URL.
    func isEqualExceptForURL(to other: RequestKey) -> Bool {
        method == other.method && namespace == other.namespace && contentDigest == other.contentDigest
    }

    fileprivate func text(after prefix: String = "", before suffix: String = "") -> String {
        var text = prefix
        text.reserveCapacity(prefix.utf8.count + suffix.utf8.count + url.utf8.count + 24)
        text += method.word
        text += " "
        text.append(part: namespace.text)
        text.append(part: contentDigest?.hexadecimal)
        text += url
        text += suffix
        return text
    }
}

/// The users who share an entry. An entry is used only for requests in its namespace.
///
/// | namespace | text |
/// |---|---|
/// | requests without credentials or owner | none |
/// | an owner named by the caller | `owner:NAME` |
/// | a user with a password | `user:NAME` |
/// | other credentials, of which only the digest is known | `authorization:HEX` |
/// | the default `.netrc`, or another file | `netrc`, `netrc:PATH` |
package enum Namespace: Sendable, Hashable {
    case shared
    case owner(ByteText)
    case user(ByteText)
    case credentials(digest: ByteText)
    case netrc(path: ByteText?)

    /// The namespace in keys and listings; `nil` for the shared one.
    package var text: String? {
        switch self {
        case .shared: nil
        case .owner(let name): "owner:" + name.wrappedValue
        case .user(let name): "user:" + name.wrappedValue
        case .credentials(let digest): "authorization:" + digest.wrappedValue
        case .netrc(nil): "netrc"
        case .netrc(let path?): "netrc:" + path.wrappedValue
        }
    }

    fileprivate init?(_ text: Substring?) {
        guard let text else {
            self = .shared
            return
        }
        let word = Substring(text.utf8.prefix { $0 != UInt8(ascii: ":") })
        guard word.utf8.count < text.utf8.count else {
            guard word == "netrc" else { return nil }
            self = .netrc(path: nil)
            return
        }
        let rest = text[text.utf8.index(after: word.endIndex)...].asBytes
        switch word {
        case "owner": self = .owner(rest)
        case "user": self = .user(rest)
        case "authorization": self = .credentials(digest: rest)
        case "netrc": self = .netrc(path: rest)
        default: return nil
        }
    }
}

extension EntryKey {
    package init(_ key: StoreKey) { self.init(key.text) }

    var isOfDerivedImages: Bool { if case .derivedImages? = StoreKey(value) { true } else { false } }

    var isOfNoVarySearch: Bool { if case .noVarySearch? = StoreKey(value) { true } else { false } }

    /// The request, if this is the key of a response.
    var request: RequestKey? { if case .response(let request)? = StoreKey(value) { request } else { nil } }
}

extension HTTPRequest.Method {
    /// The method in keys. A colon, which is invalid in methods, distinguishes it from the words that begin other kinds of keys.
    fileprivate var word: String {
        StoreKey.words.contains(rawValue) || rawValue.hasPrefix(StoreKey.derivedPrefix) ? ":" + rawValue : rawValue
    }

    /// Parses ``word``.
    fileprivate init?(word: Substring) {
        self.init(String(Substring(word.utf8.drop { $0 == UInt8(ascii: ":") })))
    }
}

extension String {
    /// Appends a part of arbitrary bytes, preceded by its length, and a space.
    fileprivate mutating func append(part: String?) {
        if let part {
            self += String(part.utf8.count)
            self += ":"
            self += part
            self += " "
        } else {
            self += "- "
        }
    }
}

/// Reads the parts of a key in order.
private struct KeyReader {
    private var rest: Substring

    init(_ text: String) { rest = text[...] }

    var text: Substring { rest }

    mutating func skip(_ count: Int) { rest = Substring(rest.utf8.dropFirst(count)) }

    mutating func drop(_ count: Int) { rest = Substring(rest.utf8.dropLast(count)) }

    /// Reads the text before the next space, and skips the space.
    mutating func word() -> Substring? {
        guard let end = rest.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        defer { rest = rest[rest.utf8.index(after: end)...] }
        return rest[..<end]
    }

    mutating func skipWord(_ word: String) -> Bool {
        var other = self
        guard let next = other.word(), next.hasSameBytes(as: word) else { return false }
        self = other
        return true
    }

    /// Reads a part of arbitrary bytes; `.some(nil)` for an absent part, `nil` for invalid text.
    mutating func part() -> Substring?? {
        if skipWord("-") { return .some(nil) }
        guard let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")), let count = Int(rest[..<colon]), count >= 0
        else {
            return nil
        }
        let start = rest.utf8.index(after: colon)
        guard let end = rest.utf8.index(start, offsetBy: count, limitedBy: rest.endIndex), end < rest.endIndex,
            rest.utf8[end] == UInt8(ascii: " ")
        else { return nil }
        defer { rest = rest[rest.utf8.index(after: end)...] }
        return .some(rest[start..<end])
    }

    mutating func request() -> RequestKey? {
        guard let word = word(), let method = HTTPRequest.Method(word: word), let owner = part(),
            let namespace = Namespace(owner),
            let content = part()
        else { return nil }
        var digest: [UInt8]?
        if let content {
            digest = [UInt8](hexadecimal: content)
            if digest == nil { return nil }
        }
        return RequestKey(url: String(rest), method: method, contentDigest: digest, namespace: namespace)
    }
}
