import HTTPSemantics
import HTTPServer
import HTTPTypes

/// `Via` (RFC 9110 section 7.6.3): the intermediaries of a message.
enum Via {
    /// The number of times that a request may pass the same proxy. Two consecutive caches of the same name are not a loop.
    static let mostPasses = 5

    static func append(_ name: String, minorVersion: Int, to fields: inout HTTPFields) {
        let own = "1.\(minorVersion) \(name)"
        fields[.via] = fields[.via].map { $0 + ", " + own } ?? own
    }

    /// The number of occurrences of this proxy.
    static func passes(of name: String, in fields: HTTPFields) -> Int {
        guard let value = fields[.via] else { return 0 }
        return ListedTokens(value).reduce(0) { count, member in
            let receivedBy = member.split(separator: " ", maxSplits: 2).dropFirst().first
            return count + (receivedBy.map { $0 == name } == true ? 1 : 0)
        }
    }
}

/// `Forwarded` (RFC 7239): the client, and the host name that it requested.
enum Forwarded {
    /// - Parameter isContinued: True if the request came from a trusted proxy, so that its `Forwarded`, or the client that it reports in
    ///   `X-Forwarded-For`, is extended. Otherwise both are discarded.
    static func append(_ incoming: Request, continuing isContinued: Bool, to fields: inout HTTPFields) {
        var own = "for=\(incoming.peer.forwardedNode)"
        if let host = incoming.head.authority, !host.isEmpty { own += ";host=\"\(host)\"" }
        own += ";proto=http"
        let former = isContinued ? incoming.head.fields[.forwarded] ?? reported(incoming) : nil
        fields[.forwarded] = former.map { $0 + ", " + own } ?? own
    }

    /// The client in the form of this field (RFC 7239 section 7.4).
    private static func reported(_ incoming: Request) -> String? {
        incoming.client == incoming.peer ? nil : "for=\(incoming.client.forwardedNode)"
    }
}

/// `Server-Timing` (W3C): the time that the cache took to provide the head of a response.
enum ServerTiming {
    static func append(_ outcome: CacheOutcome, since start: ContinuousClock.Instant, to fields: inout HTTPFields) {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        let microseconds = max(0, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
        let fraction = String(1000 + microseconds % 1000).dropFirst()
        let own = "cache;desc=\"\(outcome.rawValue)\";dur=\(microseconds / 1000).\(fraction)"
        fields[.serverTiming] = fields[.serverTiming].map { $0 + ", " + own } ?? own
    }
}

extension HTTPField.Name {
    static let serverTiming = known("Server-Timing")
}
