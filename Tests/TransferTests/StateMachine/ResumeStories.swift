import HTTPTypes

@testable import Transfer

enum ResumeStories {
    static let all: [Story] = [
        Story(
            "a range continues what is held",
            after: Story.continues,
            [
                (Sample.part(40...99), "begin 40..<100 of 100"), (.piece(60), "write"),
                (.wrote(60), "none"), (.end, "end complete"), (.sinkOK, "body from 40"),
            ]),
        Story(
            "a range that the server shortens is followed by a request for the rest",
            after: Story.continues,
            [
                (Sample.part(40...79), "begin 40..<80 of 100"), (.piece(40), "write"),
                (.wrote(40), "none"), (.end, "end complete"), (.sinkOK, "load partial"),
                (.learn(Sample.held(80)), "again"), (.start, "GET \(Sample.url), range 80-, If-Range: \"a\""),
                (Sample.part(80...99), "begin 80..<100 of 100"), (.piece(20), "write"),
                (.wrote(20), "none"), (.end, "end complete"), (.sinkOK, "body from 40"),
            ]),
        Story(
            "a whole body in place of a range drops what is held",
            after: Story.continues,
            [
                (
                    Sample.ok(5),
                    "begin whole of 5, dropping: 200 to a range request: the representation changed, or ranges are ignored"
                ),
                (.sinkOK, "none"), (.piece(5), "write"), (.wrote(5), "none"), (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "a range of another representation starts over, and asks for the whole",
            after: Story.continues,
            [
                (Sample.part(40...99, etag: "\"b\""), "stop"), (.fails(.cut), "end discarded"),
                (.sinkOK, "again: 206 with another ETag (\"b\", \"a\" was known)"), (.start, "GET \(Sample.url)"),
                (Sample.ok(5), "begin whole of 5"),
            ]),
        Story(
            "a range with more bytes than it says starts over",
            after: Story.continues,
            [
                (Sample.part(40...99), "begin 40..<100 of 100"), (.piece(61), "stop"),
                (.fails(.cut), "end discarded"), (.sinkOK, "again: 206 with more bytes than the range of 60"),
                (.start, "GET \(Sample.url)"),
            ]),
        Story(
            "a range that ends early although it has an end of its own starts over",
            after: Story.continues,
            [
                (Sample.part(40...99), "begin 40..<100 of 100"), (.piece(1), "write"),
                (.wrote(1), "none"), (.end, "end discarded"), (.sinkOK, "again: 206 with 1 bytes for a range of 60"),
            ]),
        Story(
            "a sink that cannot drop what is held ends the transfer",
            after: Story.continues,
            [
                (Sample.part(40...99, etag: "\"b\""), "stop"), (.fails(.cut), "end discarded"),
                (.sinkThrows, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "an error status leaves what is held alone",
            after: Story.continues,
            [
                (Sample.head(404), "none"), (.end, "status 404"),
            ]),
        Story(
            "a body that is held as a whole is proved by its last byte",
            [
                (.start, "load partial"), (.learn(Sample.held(100)), "again"),
                (.start, "GET \(Sample.url), range 99-, If-Range: \"a\""), (Sample.part(99...99), "none"),
                (.piece(1), "discard"), (.end, "begin complete 100"), (.sinkOK, "end complete"),
                (.sinkOK, "body from 100"),
            ]),
        Story(
            "a 416 without a validator is proved by the last byte",
            [
                (.start, "load partial"), (.learn(Sample.held(40, of: nil)), "again"),
                (.start, "GET \(Sample.url), range 40-, If-Range: \"a\""),
                (Sample.head(416, [.contentRange: "bytes */40"]), "none"), (.end, "again"),
                (.start, "GET \(Sample.url), range 39-, If-Range: \"a\""), (Sample.part(39...39, of: 40), "none"),
                (.end, "begin complete 40"), (.sinkOK, "end complete"), (.sinkOK, "body from 40"),
            ]),
        Story(
            "a 416 with the validator is proof",
            [
                (.start, "load partial"), (.learn(Sample.held(40, of: nil)), "again"),
                (.start, "GET \(Sample.url), range 40-, If-Range: \"a\""),
                (Sample.head(416, [.contentRange: "bytes */40", .eTag: "\"a\""]), "none"), (.end, "begin complete 40"),
            ]),
        Story(
            "any other 416 starts over",
            after: Story.continues,
            [
                (Sample.head(416), "none"), (.end, "end discarded"),
                (.sinkOK, "again: 416: the server has no such range"),
                (.start, "GET \(Sample.url)"),
            ]),
        Story(
            "the ranges that are missing are asked for one by one",
            [
                (.start, "load partial"), (.learn(Sample.held(missing: [10..<20, 30..<100])), "again"),
                (.start, "GET \(Sample.url), range 10-19, If-Range: \"a\""),
                (Sample.part(10...19), "begin 10..<20 of 100"), (.piece(10), "write"), (.wrote(10), "none"),
                (.end, "end complete"),
                (.sinkOK, "load partial"), (.learn(Sample.held(30)), "again"),
                (.start, "GET \(Sample.url), range 30-, If-Range: \"a\""),
            ]),
        Story(
            "less than the rest of a body of unknown length is kept, and what then is missing is asked for",
            [
                (.start, "load partial"), (.learn(Sample.held(40, of: nil)), "again"),
                (.start, "GET \(Sample.url), range 40-, If-Range: \"a\""),
                (Sample.part(40...59), "begin 40..<60 of 100"), (.piece(20), "write"), (.wrote(20), "none"),
                (.end, "end complete"), (.sinkOK, "load partial"), (.learn(Sample.held(60)), "again"),
                (.start, "GET \(Sample.url), range 60-, If-Range: \"a\""),
            ]),
        Story(
            "a sink that does not keep the range that it was given ends the transfer",
            [
                (.start, "load partial"), (.learn(Sample.held(missing: [10..<20, 30..<100])), "again"),
                (.start, "GET \(Sample.url), range 10-19, If-Range: \"a\""),
                (Sample.part(10...19), "begin 10..<20 of 100"), (.piece(10), "write"), (.wrote(10), "none"),
                (.end, "end complete"),
                (.sinkOK, "load partial"),
                (
                    .learn(Sample.held(missing: [10..<20, 30..<100])),
                    "failed refusedBySink: a part that the server sent was not kept"
                ),
            ]),
        Story(
            "a request with a range of its own is never resumed",
            Sample.request {
                $0.fields[.range] = "bytes=5-"
                $0.options.forwardsErrorResponses = true
            }, [(.start, "GET \(Sample.url)")]),
        Story(
            "a coded body is never resumed", Sample.request { $0.options.acceptsContentCoding = true },
            [
                (.start, "GET \(Sample.url)")
            ]),
        Story(
            "a retry continues what the attempt before it brought",
            after: Story.begins,
            [
                (Sample.head(200, [.contentLength: "100", .eTag: "\"a\""]), "begin whole of 100"),
                (.piece(40), "write"), (.wrote(40), "none"), (.fails(.cut), "end cut"), (.sinkOK, "ask can restart"),
                (.canRestart(Sample.held(40)), "wait 0.5 s: cut"),
                (.start, "GET \(Sample.url), range 40-, If-Range: \"a\""),
                (Sample.part(40...99), "begin 40..<100 of 100"), (.piece(60), "write"), (.wrote(60), "none"),
                (.end, "end complete"),
                (.sinkOK, "body"),
            ]),
    ]
}

enum RetryStories {
    private static let oneRetry = Sample.request { $0.options.retry.maxRetries = 1 }

    static let all: [Story] = [
        Story(
            "retries without progress end with the failure", oneRetry,
            after: Story.begins,
            [
                (.fails(.cut), "ask can restart"), (.canRestart(nil), "wait 0.5 s: cut"),
                (.start, "GET \(Sample.url)"),
                (.fails(.cut), "ask can restart"), (.canRestart(nil), "failed cut: cut (1 retry without progress)"),
            ]),
        Story(
            "progress begins the count anew", oneRetry,
            after: Story.begins,
            [
                (.fails(.cut), "ask can restart"), (.canRestart(nil), "wait 0.5 s: cut"),
                (.start, "GET \(Sample.url)"),
                (.fails(.cut), "ask can restart"), (.canRestart(Sample.held(1)), "wait 0.5 s: cut"),
            ]),
        Story(
            "a failure that will come again is not tried again",
            after: Story.begins,
            [
                (.fails(.tls), "failed tls: not trusted")
            ]),
        Story(
            "a request that may have had an effect is not repeated", Sample.request(method: .post),
            [
                (.start, "POST \(Sample.url), content"), (.fails(.cut), "failed cut: cut"),
            ]),
        Story(
            "a PUT is not repeated, although it is idempotent", Sample.request(method: .put),
            [
                (.start, "PUT \(Sample.url), content"), (.fails(.cut), "failed cut: cut"),
            ]),
        Story(
            "where there are no retries, the sink is not asked",
            Sample.request { $0.options.retry.maxRetries = 0 }, after: Story.begins, [(.fails(.cut), "failed cut: cut")]
        ),
        Story(
            "a host that was never reached is tried once more",
            after: Story.begins,
            [
                (.fails(.unreachable), "ask can restart"), (.canRestart(nil), "wait 0.5 s: refused"),
                (.start, "GET \(Sample.url)"), (.fails(.unreachable), "ask can restart"),
                (.canRestart(nil), "failed connect: refused (1 retry without progress)"),
            ]),
        Story(
            "a host that was reached before is waited for",
            after: Story.begins,
            [
                (Sample.head(503), "none"), (.end, "ask can restart"),
                (.canRestart(nil), "wait 0.5 s: the server answered 503"), (.start, "GET \(Sample.url)"),
                (.fails(.unreachable), "ask can restart"), (.canRestart(nil), "wait 1 s: refused"),
                (.start, "GET \(Sample.url)"), (.fails(.unreachable), "ask can restart"),
                (.canRestart(nil), "wait 2 s: refused"),
            ]),
        Story(
            "a status that may pass is tried again after the time that it names",
            after: Story.begins,
            [
                (Sample.head(429, [.retryAfter: "7"]), "none"), (.end, "ask can restart"),
                (.canRestart(nil), "wait 7 s: the server answered 429"),
            ]),
        Story(
            "a status that asks for too long is the result, with the reason",
            after: Story.begins,
            [
                (Sample.head(503, [.retryAfter: "301"]), "none"), (.end, "ask can restart"),
                (
                    .canRestart(nil),
                    "status 503 (the server asks to wait 301 s, more than the limit of 300 s)"
                ),
            ]),
        Story(
            "a status that asks for more seconds than a number holds asks for too long",
            after: Story.begins,
            [
                (Sample.head(503, [.retryAfter: "99999999999999999999"]), "none"), (.end, "ask can restart"),
                (
                    .canRestart(nil),
                    "status 503 (the server asks to wait 2147483648 s, more than the limit of 300 s)"
                ),
            ]),
        Story(
            "a sink that handed the body on takes no other status",
            after: Story.begins,
            [
                (Sample.head(503), "none"), (.end, "ask can restart"),
                (.cannotRestart, "status 503 (the answer was handed on, and cannot be continued)"),
            ]),
        Story(
            "an attempt that stalls is tried again",
            after: Story.begins,
            [
                (.stalled, "ask can restart"),
                (.canRestart(nil), "wait 0.5 s: no byte from the server for 30 s"),
            ]),
        Story(
            "a body that stalls is cut and tried again",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.stalled, "end cut"),
                (.sinkOK, "ask can restart"),
            ]),
        Story(
            "no HTTP on a used connection is asked for once more on a new one",
            after: Story.begins,
            [
                (.fails(.spoiled), "again"), (.start, "GET \(Sample.url), fresh"),
                (.fails(.spoiled), "failed protocolViolation: no HTTP"),
            ]),
        Story(
            "a POST is not repeated on a new connection", Sample.request(method: .post),
            [
                (.start, "POST \(Sample.url), content"), (.fails(.spoiled), "failed protocolViolation: no HTTP"),
            ]),
        Story(
            "a PUT is not repeated on a new connection", Sample.request(method: .put),
            [
                (.start, "PUT \(Sample.url), content"), (.fails(.spoiled), "failed protocolViolation: no HTTP"),
            ]),
        Story(
            "where no connection came about, a refused address is the reason",
            after: Story.begins,
            [
                (.refusedAddress, "none"), (.fails(.unreachable), "failed addressRefused: it is at home"),
            ]),
        Story(
            "a refused address is the reason for a late connection too",
            after: Story.begins,
            [
                (.refusedAddress, "none"), (.fails(.connectTimeout), "failed addressRefused: it is at home"),
            ]),
        Story(
            "a refused address is no reason after a connection was made",
            after: Story.begins,
            [
                (.refusedAddress, "none"), (.fails(.cut), "ask can restart"),
            ]),
        Story(
            "a refused address is no reason for a late response",
            after: Story.begins,
            [
                (.refusedAddress, "none"), (.fails(.responseTimeout), "ask can restart"),
            ]),
    ]
}

enum HeadStories {
    private static let proxied = Sample.request { $0.options.forwardsErrorResponses = true }

    static let all: [Story] = [
        Story(
            "an interim response is passed on by a proxy, without its framing", proxied,
            after: Story.begins,
            [
                (.headBegan, "none"), (.interim(103), "interim 103 with 1 fields"), (Sample.ok(1), "begin whole of 1"),
            ]),
        Story(
            "an interim response is nobody else's",
            after: Story.begins,
            [
                (.interim(103), "none"), (Sample.ok(1), "begin whole of 1"),
            ]),
        Story(
            "a head that libcurl reads as a trailer is refused",
            after: Story.begins,
            [
                (Sample.head(200, readAs: 404), "stop"),
                (.fails(.cut), "failed protocolViolation: a trailer that looks like a response head"),
            ]),
        Story(
            "trailers change nothing",
            after: Story.begins,
            [
                (Sample.ok(1), "begin whole of 1"), (.headBegan, "none"), (Sample.head(404), "none"),
                (.piece(1), "write"), (.wrote(1), "none"), (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "the head after one that libcurl answers itself counts",
            after: Story.begins,
            [
                (Sample.head(401), "none"), (.headBegan, "none"), (Sample.ok(1), "begin whole of 1"),
            ]),
        Story(
            "a head that is cut after another is no head",
            after: Story.begins,
            [
                (Sample.head(401), "none"), (.headBegan, "none"), (.end, "ask can restart"),
                (.canRestart(nil), "wait 0.5 s: the connection ended inside the response head"),
            ]),
        Story(
            "contradictory lengths are refused",
            after: Story.begins,
            [
                (Sample.head(200, [.contentLength: "1, 2"]), "stop"),
                (.fails(.cut), "failed protocolViolation: the response has an invalid Content-Length, or several"),
            ]),
        Story(
            "an unknown transfer coding is refused",
            after: Story.begins,
            [
                (Sample.head(200, [.transferEncoding: "gzip, chunked"]), "stop"),
                (
                    .fails(.cut),
                    "failed protocolViolation: the response has the transfer coding 'gzip, chunked', which is not known"
                ),
            ]),
        Story(
            "304 to a request without a condition is refused",
            after: Story.begins,
            [
                (Sample.head(304), "none"),
                (.end, "failed protocolViolation: 304 Not Modified to a request without a precondition"),
            ]),
        Story(
            "304 to the request's own condition is its result",
            Sample.request { $0.fields[.ifNoneMatch] = "\"a\"" },
            after: Story.begins, [(Sample.head(304), "none"), (.end, "not modified")]),
        Story(
            "cancelled twice is cancelled once",
            after: Story.begins,
            [
                (.cancel, "failed cancelled: the transfer was cancelled"), (.cancel, "none"),
            ]),
        Story(
            "a cancelled body is cut, whatever the sink says",
            after: Story.begins,
            [
                (Sample.ok(1), "begin whole of 1"), (.cancel, "end cut"),
                (.sinkThrows, "failed cancelled: the transfer was cancelled"), (.start, "none"),
            ]),
        Story(
            "a transfer that is cancelled while it pauses does not come again",
            after: Story.begins,
            [
                (.fails(.cut), "ask can restart"), (.canRestart(nil), "wait 0.5 s: cut"),
                (.cancel, "failed cancelled: the transfer was cancelled"), (.start, "none"),
            ]),
    ]
}
