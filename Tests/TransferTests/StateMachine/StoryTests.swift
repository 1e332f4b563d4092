import HTTPTypes
import Testing

@testable import Transfer

/// A transfer as a sequence of events and their outcomes.
struct Story: Sendable, CustomTestStringConvertible {
    typealias Step = (event: MachineUnderTest.Event, outcome: String)

    let testDescription: String
    let request: TransferRequest
    let steps: [Step]

    init(_ name: String, _ request: TransferRequest, after way: [Step] = [], _ steps: [Step]) {
        testDescription = name
        self.request = request
        self.steps = way + steps
    }

    init(_ name: String, after way: [Step] = [], _ steps: [Step]) {
        self.init(name, Sample.request(), after: way, steps)
    }

    /// The first attempt of a transfer of which nothing is held.
    static let begins: [Step] = [
        (.start, "load partial"), (.learn(nil), "again"), (.start, "GET \(Sample.url)"),
    ]

    /// The first attempt of one that continues the first 40 of 100 bytes.
    static let continues: [Step] = [
        (.start, "load partial"), (.learn(Sample.held(40)), "again"),
        (.start, "GET \(Sample.url), range 40-, If-Range: \"a\""),
    ]

    func run() throws {
        var machine = try MachineUnderTest(request)
        for (index, step) in steps.enumerated() {
            let outcome = machine.send(step.event)
            #expect(outcome == step.outcome, "step \(index): \(step.event)")
        }
    }
}

@Suite struct TransferStoryTests {
    @Test(arguments: BodyStories.all) func `bodies are passed to the sink as their stories tell`(story: Story) throws {
        try story.run()
    }
    @Test(arguments: ResumeStories.all) func `partial bodies are resumed as their stories tell`(story: Story) throws {
        try story.run()
    }
    @Test(arguments: RedirectStories.all) func `redirects are followed as their stories tell`(story: Story) throws {
        try story.run()
    }
    @Test(arguments: RetryStories.all) func `failed attempts are retried as their stories tell`(story: Story) throws {
        try story.run()
    }
    @Test(arguments: HeadStories.all) func `heads are interpreted as their stories tell`(story: Story) throws {
        try story.run()
    }
}

enum BodyStories {
    static let all: [Story] = [
        Story(
            "a body of known length is complete",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(10), "write"), (.wrote(10), "none"),
                (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "a body of unknown length is complete with its end",
            after: Story.begins,
            [
                (Sample.ok(nil), "begin whole of ?"), (.piece(7), "write"), (.wrote(7), "none"),
                (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "an empty body needs no piece",
            after: Story.begins,
            [
                (Sample.ok(0), "begin whole of 0"), (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "a body that is longer than its head says is cut",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(11), "stop"),
                (.fails(.cut), "end cut"),
                (.sinkOK, "failed protocolViolation: the body is longer than its head says"),
            ]),
        Story(
            "a body that is shorter than its head says is tried again",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(4), "write"), (.wrote(4), "none"),
                (.end, "end cut"), (.sinkOK, "ask can restart"),
                (.canRestart(nil), "wait 0.5 s: the body is shorter than its head says"),
            ]),
        Story(
            "a body whose length is beyond the limit is refused before it begins",
            Sample.request { $0.options.maxFileSize = 9 },
            after: Story.begins,
            [
                (Sample.ok(10), "stop"),
                (.fails(.cut), "failed tooLarge: the body of 10 bytes is larger than the limit of 9 bytes"),
            ]),
        Story(
            "a body that grows beyond the limit is dropped",
            Sample.request { $0.options.maxFileSize = 9 },
            after: Story.begins,
            [
                (Sample.ok(nil), "begin whole of ?"), (.piece(9), "write"), (.wrote(9), "none"),
                (.piece(1), "stop"), (.fails(.cut), "end discarded"),
                (.sinkOK, "failed tooLarge: the body is larger than the limit of 9 bytes"),
            ]),
        Story(
            "a sink that refuses the head gets no body and no end",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.sinkThrows, "stop"), (.fails(.cut), "end cut"),
                (.sinkThrows, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a sink that refuses the head after the body's end fails the transfer",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(10), "write"), (.wrote(10), "none"),
                (.end, "end complete"), (.sinkThrows, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a sink that refuses a piece after the body's end is told of a cut",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(10), "write"), (.wrote(10), "none"),
                (.end, "end complete"), (.writeThrows, "end cut"),
                (.sinkOK, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a sink that refuses a piece of a body that was cut gets no other one",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(4), "write"), (.wrote(4), "none"),
                (.fails(.cut), "end cut"), (.writeThrows, "end cut"),
                (.sinkOK, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a body that is cancelled before the sink has answered to its head is cut",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(4), "write"), (.wrote(4), "none"), (.cancel, "end cut"),
                (.sinkThrows, "failed cancelled: the transfer was cancelled"),
            ]),
        Story(
            "a body that is cancelled after its end, and before the sink was told of that, is cut",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(10), "write"), (.wrote(10), "none"),
                (.end, "end complete"), (.cancel, "end cut"),
                (.sinkOK, "failed cancelled: the transfer was cancelled"),
            ]),
        Story(
            "a sink that refuses a piece is told of the cut",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.piece(4), "write"), (.writeThrows, "stop"),
                (.fails(.cut), "end cut"), (.writeThrows, "end cut"),
                (.sinkOK, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a sink that refuses the end of a whole body fails the transfer",
            after: Story.begins,
            [
                (Sample.ok(0), "begin whole of 0"), (.end, "end complete"),
                (.sinkThrows, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a sink that refuses a cut body gets no other one",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.fails(.cut), "end cut"),
                (.sinkThrows, "failed refusedBySink: the body could not be stored"),
            ]),
        Story(
            "a paused body goes on when the sink says so, and only then",
            after: Story.begins,
            [
                (Sample.ok(10), "begin whole of 10"), (.sinkResumes, "none"), (.piece(10), "write"),
                (.sinkPauses, "none"), (.rateAllows, "none"), (.sinkResumes, "goes on"), (.sinkResumes, "none"),
                (.piece(10), "write"), (.wrote(10), "none"), (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "a rate pauses a body until its time has come, whatever the sink says",
            Sample.request { $0.options.rateLimit = 1000 },
            after: Story.begins,
            [
                (Sample.ok(100), "begin whole of 100"), (.piece(50), "write"), (.wrote(50), "none"),
                (.piece(50), "pause"), (.sinkResumes, "none"), (.rateAllows, "none"),
                (.wait(.milliseconds(50)), "none"),
                (.rateAllows, "goes on"), (.piece(50), "write"), (.wrote(50), "none"), (.end, "end complete"),
                (.sinkOK, "body"),
            ]),
        Story(
            "a response to HEAD is its head", Sample.request(method: .head),
            [
                (.start, "HEAD \(Sample.url)"), (Sample.ok(1_000_000), "none"), (.end, "status 200"),
            ]),
        Story(
            "an error status has no body for the sink",
            after: Story.begins,
            [
                (Sample.head(404, [.contentLength: "9"]), "none"), (.judge, "none"), (.piece(9), "discard"),
                (.end, "status 404"),
            ]),
        Story(
            "the body of an error status is read up to 64 KiB",
            after: Story.begins,
            [
                (Sample.head(404), "none"), (.judge, "none"), (.piece(65_536), "discard"), (.piece(1), "stop"),
                (.fails(.cut), "status 404"),
            ]),
        Story(
            "an error status that announces more is not read at all",
            after: Story.begins,
            [
                (Sample.head(404, [.contentLength: "65537"]), "none"), (.judge, "stop"), (.fails(.cut), "status 404"),
            ]),
        Story(
            "a proxy's sink gets the body of an error status",
            Sample.request {
                $0.options.forwardsErrorResponses = true; $0.options.maxRedirects = 0
            },
            after: Story.begins,
            [
                (Sample.head(503, [.contentLength: "4"]), "begin whole of 4"), (.piece(4), "write"),
                (.wrote(4), "none"), (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "where credentials may be asked for, an error's body begins with its first piece",
            Sample.request("http://user:pw@a.example/file") {
                $0.options.forwardsErrorResponses = true
                $0.options.maxRedirects = 0
            },
            [
                (.start, "load partial"), (.learn(nil), "again"), (.start, "GET \(Sample.url), as user"),
                (Sample.head(401, [.contentLength: "4"]), "none"), (.judge, "begin whole of 4"),
                (.piece(4), "write"), (.wrote(4), "none"), (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "an empty error body that is the sink's begins when the exchange has ended",
            Sample.request { $0.options.forwardsErrorResponses = true },
            after: Story.begins,
            [
                (Sample.head(404, [.contentLength: "0"]), "none"), (.end, "begin whole of 0"),
                (.end, "end complete"), (.sinkOK, "body"),
            ]),
        Story(
            "a sink that refuses a body whose exchange has ended ends the transfer",
            Sample.request { $0.options.forwardsErrorResponses = true },
            after: Story.begins,
            [
                (Sample.head(404, [.contentLength: "0"]), "none"), (.end, "begin whole of 0"),
                (.end, "end complete"), (.sinkThrows, "failed refusedBySink: the body could not be stored"),
            ]),
    ]
}

enum RedirectStories {
    static let all: [Story] = [
        Story(
            "a redirect is followed when its response has ended",
            after: Story.begins,
            [
                (Sample.redirect(to: "/b"), "none"), (.piece(100), "discard"), (.end, "again"),
                (.start, "GET http://a.example/b"), (Sample.ok(1), "begin whole of 1"),
            ]),
        Story(
            "a redirect's body is read up to 64 KiB",
            after: Story.begins,
            [
                (Sample.redirect(to: "/b"), "none"), (.piece(65_536), "discard"), (.piece(1), "stop"),
                (.fails(.cut), "again"), (.start, "GET http://a.example/b"),
            ]),
        Story(
            "a redirect that announces more is not read at all",
            after: Story.begins,
            [
                (Sample.redirect(to: "/b", [.contentLength: "65537"]), "stop"), (.fails(.cut), "again"),
                (.start, "GET http://a.example/b"),
            ]),
        Story(
            "a redirect with an unknown transfer coding is not read",
            after: Story.begins,
            [
                (Sample.redirect(to: "/b", [.transferEncoding: "gzip, chunked"]), "stop"), (.fails(.cut), "again"),
            ]),
        Story(
            "a redirect whose body stalls is followed all the same",
            after: Story.begins,
            [
                (Sample.redirect(to: "/b"), "none"), (.stalled, "again"), (.start, "GET http://a.example/b"),
            ]),
        Story(
            "credentials go to the own origin only, and again when it comes back",
            Sample.request("http://user:pw@a.example/file"),
            [
                (.start, "load partial"), (.learn(nil), "again"), (.start, "GET \(Sample.url), as user"),
                (Sample.redirect(to: "http://b.example/x"), "none"), (.end, "again"),
                (.start, "GET http://b.example/x, elsewhere"),
                (Sample.redirect(to: "http://a.example/y"), "none"), (.end, "again"),
                (.start, "GET http://a.example/y, as user"),
            ]),
        Story(
            "another scheme or port is another origin",
            Sample.request { $0.options.credentials = .init(user: "me", password: "pw") },
            [
                (.start, "load partial"), (.learn(nil), "again"), (.start, "GET \(Sample.url), as me"),
                (Sample.redirect(to: "https://a.example/x"), "none"), (.end, "again"),
                (.start, "GET https://a.example/x, elsewhere"),
                (Sample.redirect(to: "http://a.example:81/x"), "none"), (.end, "again"),
                (.start, "GET http://a.example:81/x, elsewhere"),
            ]),
        Story(
            "what is asked about a stored body is asked of its own resource only",
            Sample.request {
                $0.conditions = StoredBodyConditions(fields: [.ifNoneMatch: "\"a\""], url: "http://b.example/x")
            },
            after: Story.begins,
            [
                (Sample.redirect(to: "http://b.example/x"), "none"), (.end, "again"),
                (.start, "GET http://b.example/x, If-None-Match: \"a\", elsewhere"), (Sample.head(304), "none"),
                (.end, "not modified"),
            ]),
        Story(
            "a range is asked of the resource only that the held bytes came from",
            after: Story.continues,
            [
                (Sample.redirect(to: "/b"), "none"), (.end, "again"), (.start, "GET http://a.example/b"),
                (
                    Sample.ok(5),
                    "begin whole of 5, dropping: the held bytes are of another resource (http://a.example/file)"
                ),
            ]),
        Story(
            "a POST becomes a GET after 302", Sample.request(method: .post) { $0.body = [1] },
            [
                (.start, "POST \(Sample.url), content"), (Sample.redirect(to: "/b"), "none"), (.end, "again"),
                (.start, "GET http://a.example/b"),
            ]),
        Story(
            "a POST stays one after 307", Sample.request(method: .post) { $0.body = [1] },
            [
                (.start, "POST \(Sample.url), content"), (Sample.redirect(307, to: "/b"), "none"), (.end, "again"),
                (.start, "POST http://a.example/b, content"),
            ]),
        Story(
            "one redirect too many ends the transfer", Sample.request { $0.options.maxRedirects = 1 },
            after: Story.begins,
            [
                (Sample.redirect(to: "/b"), "none"), (.end, "again"), (.start, "GET http://a.example/b"),
                (Sample.redirect(to: "/c"), "stop"), (.fails(.cut), "failed tooManyRedirects: more than 1 redirects"),
            ]),
        Story(
            "where none is followed, a redirect is the response",
            Sample.request { $0.options.maxRedirects = 0 },
            after: Story.begins,
            [
                (Sample.redirect(to: "/b"), "none"), (.end, "status 302"),
            ]),
        Story(
            "a redirect without a location is a status",
            after: Story.begins,
            [
                (Sample.head(302), "none"), (.end, "status 302"),
            ]),
        Story(
            "each redirect is part of the attempt's time", Sample.request { $0.options.maxTime = .seconds(10) },
            [
                (.start, "load partial"), (.learn(nil), "again"), (.start, "GET \(Sample.url), within 10 s"),
                (.wait(.seconds(4)), "none"), (Sample.redirect(to: "/b"), "none"), (.end, "again"),
                (.start, "GET http://a.example/b, within 6 s"),
            ]),
    ]
}
