import HTTPSemantics

/// One or two URLs, one per line. Both normal forms are fixed points, and comparisons are symmetric.
struct URLTrial {
    private let texts: [String]

    init(_ input: UnsafeBufferPointer<UInt8>) {
        texts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
    }

    func run() {
        let urls = texts.compactMap { text in
            (try? HTTPURL(text)).map { url in
                check(url)
                return url
            }
        }
        guard let first = urls.first else { return }
        let base = try? HTTPURL("http://a.example/public/x?y")
        for text in texts {
            for other in [first, base].compactMap(\.self) {
                guard let url = try? HTTPURL(reference: text, relativeTo: other) else { continue }
                check(url)
                precondition(url.userinfo == nil || text.contains("@"), "a base's user is not handed on")
            }
        }
        guard urls.count == 2 else { return }
        let signatures = SignatureParameters.known
        precondition(signatures.isSameResource(urls[0], urls[1]) == signatures.isSameResource(urls[1], urls[0]))
        if urls[0].isBelow(urls[1]) { precondition(urls[0].hasSameOrigin(as: urls[1]), "below is of the same origin") }
    }

    private func check(_ url: HTTPURL) {
        for spelling in [url.text, url.normalized] {
            precondition(
                spelling.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }, "fit to be sent")
            guard let again = try? HTTPURL(spelling) else { preconditionFailure("\(spelling) is a URL") }
            precondition(again.normalized == url.normalized, "normalising twice is normalising once")
            precondition(again.text == spelling && again.userinfo == nil, "a fixed point")
            precondition((again.host, again.port, again.scheme) == (url.host, url.port, url.scheme))
        }
        precondition(
            url.path.utf8.first == UInt8(ascii: "/") && !DotSegments.occur(in: url.path.utf8), "no dot segments")
        precondition(url.text.hasSuffix(url.target) && !url.host.isEmpty && url.port > 0)
        precondition(SignatureParameters.known.isSameResource(url, url), "itself")
        precondition(url.isBelow(url) || DecodedPath(url.path.utf8).hasDotSegments, "not below itself")
    }
}
