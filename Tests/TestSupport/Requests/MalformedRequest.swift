/// One row of the table of requests that somebody on the way could take for another one (RFC 9112 section 11.2), or that are none.
public struct MalformedRequest: Sendable, CustomStringConvertible {
    public var name: String
    public var bytes: String
    /// The expected status.
    public var status = 400

    public var description: String { name }

    private static func request(_ name: String, _ fields: String, _ content: String = "", status: Int = 400) -> Self {
        MalformedRequest(
            name: name, bytes: "POST / HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n\(content)", status: status)
    }

    private static func line(_ name: String, _ line: String, status: Int = 400) -> Self {
        MalformedRequest(name: name, bytes: "\(line)\r\nHost: x\r\n\r\n", status: status)
    }

    private static func chunked(_ name: String, _ content: String) -> Self {
        request(name, "Transfer-Encoding: chunked", content)
    }

    public static let all: [MalformedRequest] = lengths + codings + chunks + lineEnds + fields + lines + hosts

    private static let lengths = [
        request("two lengths that differ", "Content-Length: 3\r\nContent-Length: 4", "abcd"),
        request("one length twice", "Content-Length: 3\r\nContent-Length: 3", "abc"),
        request("a list of lengths", "Content-Length: 3, 3", "abc"),
        request("a length with a sign", "Content-Length: +3", "abc"),
        request("a negative length", "Content-Length: -3", "abc"),
        request("a hexadecimal length", "Content-Length: 0x3", "abc"),
        request("a length with a fraction", "Content-Length: 3.0", "abc"),
        request("a length with a space inside", "Content-Length: 1 0", "abc"),
        request("an empty length", "Content-Length:", ""),
        request("a length beyond 64 bits", "Content-Length: 18446744073709551619", "abc"),
        request("a length and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        request("chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 3", "0\r\n\r\n"),
        MalformedRequest(
            name: "content of a GET", bytes: "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"),
        MalformedRequest(
            name: "chunks of a HEAD",
            bytes: "HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ]

    private static let codings = [
        request("chunked twice in a field", "Transfer-Encoding: chunked, chunked"),
        request("two Transfer-Encoding fields", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        request(
            "two Transfer-Encoding fields that differ", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        request("chunked not last", "Transfer-Encoding: chunked, gzip"),
        request("identity", "Transfer-Encoding: identity"),
        request("an unknown coding alone", "Transfer-Encoding: xchunked"),
        request("chunked in quotes", "Transfer-Encoding: \"chunked\""),
        request("chunked with a parameter", "Transfer-Encoding: chunked;a=b"),
        request("chunked after a vertical tab", "Transfer-Encoding: \u{0B}chunked"),
        request("chunked after a comma", "Transfer-Encoding: ,chunked"),
        request("an empty coding", "Transfer-Encoding:"),
        request("gzip and chunked", "Transfer-Encoding: gzip, chunked", status: 501),
        request("a space before the colon of Transfer-Encoding", "Transfer-Encoding : chunked"),
        request("a tab before the colon of Content-Length", "Content-Length\t: 3", "abc"),
        request("Transfer-Encoding in a folded line", "X: y\r\n Transfer-Encoding: chunked"),
        request("chunked in a folded line", "Transfer-Encoding:\r\n chunked"),
        MalformedRequest(
            name: "chunks in HTTP/1.0", bytes: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ]

    private static let chunks = [
        chunked("a size with 0x", "0x3\r\nabc\r\n0\r\n\r\n"),
        chunked("a size with a sign", "+3\r\nabc\r\n0\r\n\r\n"),
        chunked("a negative size", "-3\r\nabc\r\n0\r\n\r\n"),
        chunked("a size after a space", " 3\r\nabc\r\n0\r\n\r\n"),
        chunked("a size before a space", "3 \r\nabc\r\n0\r\n\r\n"),
        chunked("a size before a space and an extension", "3 ;a\r\nabc\r\n0\r\n\r\n"),
        chunked("no size", "\r\nabc\r\n0\r\n\r\n"),
        chunked("no size but an extension", ";a=b\r\nabc\r\n0\r\n\r\n"),
        chunked("a size beyond 64 bits", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
        chunked("many zeros before a size", "0000000000000000000003\r\nabc\r\n0\r\n\r\n"),
        chunked("a size that is no number", "g\r\n"),
        chunked("a size with an underscore", "1_0\r\n"),
        chunked("a size's line that ends with LF alone", "3\nabc\r\n0\r\n\r\n"),
        chunked("a size's line that ends with CR alone", "3\rabc\r\n0\r\n\r\n"),
        chunked("an extension that ends with LF alone", "3;a\nabc\r\n0\r\n\r\n"),
        chunked("an extension that is not ASCII", "3;aä\r\nabc\r\n0\r\n\r\n"),
        chunked("an extension without a name", "3;\r\nabc\r\n0\r\n\r\n"),
        chunked("an extension without a value", "3;a=\r\nabc\r\n0\r\n\r\n"),
        chunked("an extension with an open quote", "3;a=\"b\r\nabc\r\n0\r\n\r\n"),
        chunked("an extension with NUL", "3;a\0\r\nabc\r\n0\r\n\r\n"),
        chunked("a very long extension", "3;" + String(repeating: "a", count: 5000) + "\r\nabc\r\n0\r\n\r\n"),
        chunked("data longer than their size", "3\r\nabcd\r\n0\r\n\r\n"),
        chunked("data that end with LF alone", "3\r\nabc\n0\r\n\r\n"),
        chunked("data that end with CR alone", "3\r\nabc\r0\r\n\r\n"),
        chunked("a trailer line that ends with LF alone", "0\r\nA: b\n\r\n"),
        chunked("the end with LF alone", "0\r\n\n"),
        chunked("a trailer that is no field", "0\r\nGET / HTTP/1.1\r\n\r\n"),
        chunked("a length as a trailer", "0\r\nContent-Length: 3\r\n\r\n"),
        chunked("a transfer coding as a trailer", "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        chunked("a folded trailer", "0\r\nA: b\r\n c\r\n\r\n"),
    ]

    private static let lineEnds = [
        MalformedRequest(name: "LF alone throughout", bytes: "GET / HTTP/1.1\nHost: x\n\n"),
        MalformedRequest(name: "LF alone after the request line", bytes: "GET / HTTP/1.1\nHost: x\r\n\r\n"),
        MalformedRequest(name: "LF alone at the head's end", bytes: "GET / HTTP/1.1\r\nHost: x\r\n\n"),
        MalformedRequest(name: "CR alone throughout", bytes: "GET / HTTP/1.1\rHost: x\r\r\n"),
        request("CR within a value", "A: b\rC: d"),
        request("CR before CRLF", "A: b\r"),
        request("LF within a value", "A: b\nTransfer-Encoding: chunked"),
        request("NUL within a value", "A: b\0c"),
        request("NUL within a name", "A\0: b"),
        MalformedRequest(name: "NUL in the target", bytes: "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"),
        MalformedRequest(name: "CR in the target", bytes: "GET /\r HTTP/1.1\r\nHost: x\r\n\r\n"),
    ]

    private static let fields = [
        request("a folded value", "A: b\r\n c"),
        request("a value folded with a tab", "A: b\r\n\tc"),
        MalformedRequest(name: "a fold after the request line", bytes: "GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
        request("a space before a colon", "A : b"),
        request("no colon", "A"),
        request("no name", ": b"),
        request("a space in a name", "A B: c"),
        request("parentheses in a name", "A(b): c"),
        request("no ASCII in a name", "Ä: b"),
        request("DEL in a value", "A: b\u{7F}"),
        request("an unknown expectation", "Expect: 200-ok\r\nContent-Length: 3", status: 417),
    ]

    private static let lines = [
        line("HTTP/0.9", "GET /"),
        MalformedRequest(name: "HTTP/0.9 without an end", bytes: "GET /\r\n"),
        MalformedRequest(name: "the preface of HTTP/2", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505),
        line("HTTP/3.0", "GET / HTTP/3.0", status: 505),
        line("a version in lower case", "GET / http/1.1"),
        line("a version of two digits", "GET / HTTP/1.10"),
        line("a version without a point", "GET / HTTP/11"),
        line("a version and something", "GET / HTTP/1.1 x"),
        line("a space after the version", "GET / HTTP/1.1 "),
        line("two spaces after the method", "GET  / HTTP/1.1"),
        line("two spaces before the version", "GET /  HTTP/1.1"),
        line("a tab after the method", "GET\t/ HTTP/1.1"),
        line("a space before the method", " GET / HTTP/1.1"),
        line("a space in the target", "GET /a b HTTP/1.1"),
        line("no target", "GET HTTP/1.1"),
        line("a method that is no token", "G(T / HTTP/1.1"),
        line("a very long method", String(repeating: "A", count: 65) + " / HTTP/1.1"),
        line("a fragment", "GET /a#b HTTP/1.1"),
        line("a target that is not ASCII", "GET /ä HTTP/1.1"),
        line("a target without a slash", "GET a HTTP/1.1"),
        line("an absolute target of another scheme", "GET ftp://x/ HTTP/1.1"),
        line("an absolute target without a host", "GET http:///a HTTP/1.1"),
        line("an absolute target with credentials", "GET http://a@x/ HTTP/1.1"),
        line("the whole server with GET", "GET * HTTP/1.1"),
        line("CONNECT", "CONNECT x:443 HTTP/1.1", status: 501),
        MalformedRequest(name: "the hello of TLS", bytes: "\u{16}\u{03}\u{01}\0\r\n\r\n"),
    ]

    private static let hosts = [
        MalformedRequest(name: "no Host", bytes: "GET / HTTP/1.1\r\n\r\n"),
        MalformedRequest(name: "two Hosts", bytes: "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        MalformedRequest(name: "one Host twice", bytes: "GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"),
        MalformedRequest(name: "a list as Host", bytes: "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n"),
        MalformedRequest(name: "a URL as Host", bytes: "GET / HTTP/1.1\r\nHost: http://x\r\n\r\n"),
        MalformedRequest(name: "credentials in Host", bytes: "GET / HTTP/1.1\r\nHost: a@x\r\n\r\n"),
        MalformedRequest(name: "a path in Host", bytes: "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n"),
        MalformedRequest(name: "a port that is no number", bytes: "GET / HTTP/1.1\r\nHost: x:a\r\n\r\n"),
        MalformedRequest(name: "half a bracket in Host", bytes: "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    ]
}
