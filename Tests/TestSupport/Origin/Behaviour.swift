public import Foundation

/// The response of an origin to one request: conforming, except for the properties set here.
public struct Behaviour: Sendable {
    /// The response to a range request that could be honoured, in place of a correct 206.
    public enum RangeFault: Sendable {
        /// 200 and the whole representation, as from a server without ranges.
        case ignored
        /// 206 with a range at this distance from the requested one; the body matches Content-Range.
        case shifted(start: Int64, end: Int64)
        /// 206 with the first so many bytes of the requested range; the body matches Content-Range.
        case atMost(Int64)
        /// 206 whose Content-Range names a total that is off by so much; nil: `*`.
        case total(offBy: Int64?)
        /// 206 in another unit than bytes.
        case unit(String)
        case missingContentRange
        /// 206 with another validator than the one that the request named; nil: none at all.
        case etag(String?)
        case multipart
        /// A status without a body where 206 is due: 304, 412, 416.
        case status(Int)
        /// 416 with `bytes */N`, whatever was asked; nil: without Content-Range.
        case unsatisfiable(total: Int64?)
        /// 206 whose body ends so many bytes before the end that Content-Range and Content-Length promise.
        case short(by: Int64)
    }

    /// The framing of a 200's body.
    public enum Framing: Sendable {
        case contentLength
        /// Content-Length off by this number: a negative one announces less than is sent, a positive one more (the
        /// connection is then closed).
        case lyingContentLength(by: Int64)
        case chunked
        /// Neither length nor chunks: the end of the connection is the end of the body.
        case untilClose
    }

    public var representation: Representation
    public var rangeFault: RangeFault?
    public var framing = Framing.contentLength
    /// Answers with this status instead, with a short page as its body.
    public var status: Int?
    /// Fields for every answer: Retry-After, Location, Set-Cookie…
    public var fields: [(name: String, value: String)] = []
    /// The Content-Encoding to name; the bytes stay the representation's.
    public var contentEncoding: String?
    /// True if Accept-Ranges offers ranges.
    public var acceptsRanges = true
    /// True if a 416 contains the total in Content-Range.
    public var unsatisfiableNamesTotal = true
    /// Cuts the connection after so many body bytes of an answer; all of a chunked one: before its last chunk.
    public var cutAfter: Int64?
    /// True if a cut resets the connection instead of closing it.
    public var cutsByReset = false
    /// Stops sending after so many body bytes of an answer, and keeps the connection.
    public var stallAfter: Int64?
    /// Body bytes a second.
    public var bytesPerSecond: Int64?
    /// Holds the answer back until it is opened.
    public var gate: Gate?
    /// Holds the rest of the body back, after so many bytes, until the gate is opened.
    public var bodyGate: (after: Int64, gate: Gate)?
    /// The Date field's value.
    public var date = Date()

    public init(_ representation: Representation) {
        self.representation = representation
    }

    /// Answers with a redirect to that URL.
    public static func redirect(to url: String, status: Int = 302, cacheControl: String? = nil) -> Behaviour {
        var behaviour = Behaviour(Representation(seed: 0, size: 0, etag: ""))
        behaviour.status = status
        behaviour.fields = [("Location", url)]
        if let cacheControl { behaviour.fields.append(("Cache-Control", cacheControl)) }
        return behaviour
    }

    /// Answers with that status and these fields.
    public static func status(_ status: Int, fields: [(name: String, value: String)] = []) -> Behaviour {
        var behaviour = Behaviour(Representation(seed: 0, size: 0, etag: ""))
        behaviour.status = status
        behaviour.fields = fields
        return behaviour
    }
}

extension ScriptedOrigin {
    /// An origin that responds with the behaviour for each request.
    public convenience init(
        sendBuffer: Int32? = 16384, behaviour: @escaping @Sendable (ReceivedRequest) -> Behaviour
    ) throws {
        try self.init(sendBuffer: sendBuffer, script: { behaviour($0).script(for: $0) })
    }

    /// An origin that serves one representation by the rules, under every path.
    public convenience init(serving representation: Representation, sendBuffer: Int32? = 16384) throws {
        try self.init(sendBuffer: sendBuffer, behaviour: { _ in Behaviour(representation) })
    }
}
