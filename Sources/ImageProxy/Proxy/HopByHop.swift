import HTTPSemantics
import HTTPServer
import HTTPTypes

/// Fields that are for one connection only and are not passed on (RFC 9110 section 7.6.1).
enum HopByHop {
    /// The fields of a request that are for the origin: those for one connection are left out, and those of ``ClientAssertions``.
    ///
    /// - Parameter passed: names, in lower case, of assertions that are passed on all the same.
    static func endToEnd(_ head: RequestHead, passing passed: Set<String> = []) -> HTTPFields {
        head.fields.endToEnd { name in
            isForThisProxy(name) || ClientAssertions.contains(name) && !passed.contains(name)
        }
    }

    /// `Host` and `Content-Length` are set anew, `Expect` has been met here, `Max-Forwards` is counted, trailers are not passed on.
    private static func isForThisProxy(_ name: String) -> Bool {
        // By length first: every field of every request is looked at.
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
