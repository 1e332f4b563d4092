import HTTPSemantics
import HTTPServer
import HTTPTypes

/// Fields that apply to one connection and are not forwarded (RFC 9110 section 7.6.1).
enum HopByHop {
    /// The fields of a request to forward to the origin, without hop-by-hop fields and ``ClientAssertions``.
    ///
    /// - Parameters:
    ///   - passed: The assertions to forward nevertheless, in lower case.
    ///   - isDropped: Returns true for other fields, named in lower case, that are not forwarded.
    static func endToEnd(
        _ head: RequestHead, passing passed: Set<String> = [], dropping isDropped: (String) -> Bool = { _ in false }
    ) -> HTTPFields {
        head.fields.endToEnd { name in
            isForThisProxy(name) || ClientAssertions.contains(name) && !passed.contains(name) || isDropped(name)
        }
    }

    /// True for fields that end at this proxy. `Host` and `Content-Length` are set again, `Expect` and `Max-Forwards` are handled here, and
    /// trailers are not forwarded.
    private static func isForThisProxy(_ name: String) -> Bool {
        // Lengths are compared first, because every field of every request passes here.
        switch name.utf8.count {
        case 4: name == "host"
        case 6: name == "expect"
        case 7: name == "trailer"
        case 12: name == "max-forwards"
        case 14: name == "content-length"
        default: false
        }
    }
}
