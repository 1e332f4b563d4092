import HTTPTypes
import Testing

@testable import Transfer

/// Each state of a transfer with each event. Events outside the table change nothing.
@Suite struct StateEventTests {
    typealias Event = MachineUnderTest.Event

    struct Row: Sendable, CustomTestStringConvertible {
        let state: String
        /// The way to the state.
        let way: [Event]
        /// By event: action, and the state after it.
        let outcomes: [String: (action: String, state: String)]
        var testDescription: String { state }
    }

    /// A machine for a request that resumes and retries, and has a rate limit.
    private static func machine() throws -> MachineUnderTest {
        try MachineUnderTest(
            Sample.request {
                $0.options.rateLimit = 1000
                $0.options.retry.maxRetries = 1
            })
    }

    private static let events: [(name: String, event: Event)] = [
        ("start", .start), ("learn", .learn(nil)), ("head begins", .headBegan), ("interim", .interim(103)),
        ("200", Sample.ok(10)), ("404", Sample.head(404)), ("302", Sample.redirect(to: "/b")), ("broken", .broken),
        ("judge", .judge), ("piece", .piece(5)), ("wrote", .wrote(5)), ("sink pauses", .sinkPauses),
        ("sink resumes", .sinkResumes), ("rate allows", .rateAllows), ("end", .end), ("stalled", .stalled),
        ("cut", .fails(.cut)), ("sink ok", .sinkOK), ("sink throws", .sinkThrows), ("write throws", .writeThrows),
        ("another", .canRestart(nil)),
        ("no other", .cannotRestart), ("address", .refusedAddress), ("cancel", .cancel),
    ]

    private static let cancelled = (action: "failed cancelled: the transfer was cancelled", state: "finished")
    private static let refused = (action: "failed refusedBySink: the body could not be stored", state: "finished")
    private static let begins = (action: "begin whole of 10", state: "receiving")
    private static let retries = (action: "ask can restart", state: "retrying")
    private static let sent = (action: "GET http://a.example/file", state: "awaiting head")
    private static let stop = (action: "stop", state: "stopping")
    private static let cuts = (action: "end cut", state: "ending body")

    private static let awaiting: [Event] = [.start, .learn(nil), .start]
    private static let receiving: [Event] = awaiting + [Sample.ok(10)]

    private static func insideExchange(
        _ state: String, _ outcomes: [String: (action: String, state: String)]
    ) -> [String: (action: String, state: String)] {
        // A piece of a body where none can come ends the exchange; the state tells why when it has ended.
        ["piece": ("stop", state), "cancel": cancelled].merging(outcomes) { $1 }
    }

    private static let heads: [String: (action: String, state: String)] = [
        "head begins": ("none", "inside head"), "interim": ("none", "awaiting head"), "200": begins,
        "404": ("none", "unjudged head"), "302": ("none", "discarding redirect"), "broken": stop,
        "stalled": retries, "cut": retries, "end": retries,
    ]

    static let rows: [Row] = [
        Row(
            state: "new", way: [],
            outcomes: [
                "start": ("load partial", "new"), "learn": ("again", "ready"), "cancel": cancelled,
                "piece": ("stop", "new"),
            ]),
        Row(
            state: "ready", way: [.start, .learn(nil)],
            outcomes: ["start": sent, "cancel": cancelled, "piece": ("stop", "ready")]),
        Row(
            state: "ready for redirect", way: awaiting + [Sample.redirect(to: "/b"), .end],
            outcomes: [
                "start": ("GET http://a.example/b", "awaiting head"), "cancel": cancelled,
                "piece": ("stop", "ready for redirect"),
            ]),
        Row(state: "awaiting head", way: awaiting, outcomes: insideExchange("awaiting head", heads)),
        Row(state: "inside head", way: awaiting + [.headBegan], outcomes: insideExchange("inside head", heads)),
        Row(
            state: "unjudged head", way: awaiting + [Sample.head(404)],
            outcomes: insideExchange(
                "unjudged head",
                heads.merging([
                    "judge": ("none", "discarding"), "end": ("status 404", "finished"),
                    "stalled": ("status 404", "finished"), "cut": ("status 404", "finished"),
                ]) { $1 })),
        Row(
            state: "receiving", way: receiving,
            outcomes: [
                "piece": ("write", "receiving"), "sink pauses": ("none", "paused"), "broken": stop, "end": cuts,
                "stalled": cuts, "cut": cuts, "sink throws": stop, "write throws": stop, "cancel": cuts,
            ]),
        Row(
            state: "paused", way: receiving + [.piece(5), .sinkPauses],
            outcomes: [
                "piece": ("write", "paused"), "wrote": ("none", "receiving"), "sink resumes": ("goes on", "receiving"),
                "broken": stop, "end": cuts, "stalled": cuts, "cut": cuts, "sink throws": stop, "write throws": stop,
                "cancel": cuts,
            ]),
        Row(
            state: "rate-limited", way: receiving + [.piece(5), .wrote(5), .wrote(1), .piece(1)],
            outcomes: [
                "piece": ("stop", "stopping"), "wrote": ("none", "receiving"), "sink pauses": ("none", "paused"),
                "broken": stop, "end": cuts, "stalled": cuts, "cut": cuts, "sink throws": stop, "write throws": stop,
                "cancel": cuts,
            ]),
        Row(
            state: "discarding", way: awaiting + [Sample.head(404), .judge],
            outcomes: [
                "piece": ("discard", "discarding"), "broken": ("stop", "discarding"), "end": ("status 404", "finished"),
                "stalled": ("status 404", "finished"), "cut": ("status 404", "finished"), "cancel": cancelled,
            ]),
        Row(
            state: "discarding redirect", way: awaiting + [Sample.redirect(to: "/b")],
            outcomes: [
                "piece": ("discard", "discarding redirect"), "broken": ("stop", "discarding redirect"),
                "end": ("again", "ready for redirect"),
                "stalled": ("again", "ready for redirect"), "cut": ("again", "ready for redirect"), "cancel": cancelled,
            ]),
        Row(
            state: "stopping", way: awaiting + [.broken],
            outcomes: insideExchange(
                "stopping",
                [
                    "end": ("failed protocolViolation: no end", "finished"),
                    "stalled": ("failed protocolViolation: no end", "finished"),
                    "cut": ("failed protocolViolation: no end", "finished"),
                ])),
        Row(
            state: "stopping to restart", way: [.start, .learn(Sample.held(40)), .start, Sample.head(412)] + [.judge],
            outcomes: insideExchange(
                "stopping to restart",
                [
                    "end": ("end discarded", "ending body"), "stalled": ("end discarded", "ending body"),
                    "cut": ("end discarded", "ending body"),
                ])),
        Row(
            state: "confirming",
            way: [.start, .learn(Sample.held(100)), .start, Sample.part(99...99), .end],
            outcomes: insideExchange(
                "confirming",
                [
                    "sink ok": ("end complete", "ending body"), "sink throws": refused, "write throws": refused,
                ])),
        Row(
            state: "ending body", way: receiving + [.piece(10), .wrote(10), .end],
            outcomes: insideExchange(
                "ending body",
                [
                    "sink ok": ("body", "finished"), "sink throws": refused, "write throws": cuts, "cancel": cuts,
                ])),
        Row(
            state: "between ranges",
            way: [.start, .learn(Sample.held(missing: [10..<20, 30..<100])), .start, Sample.part(10...19)]
                + [.piece(10), .wrote(10), .end, .sinkOK],
            outcomes: insideExchange("between ranges", ["learn": ("body from 20", "finished")])),
        Row(
            state: "retrying", way: awaiting + [.fails(.cut)],
            outcomes: insideExchange(
                "retrying",
                [
                    "another": ("wait 0.5 s: cut", "ready"),
                    "no other": (
                        "failed cut: cut (the answer was handed on, and cannot be continued)", "finished"
                    ),
                ])),
        Row(state: "finished", way: [.cancel], outcomes: ["piece": ("stop", "finished")]),
    ]

    @Test(arguments: rows) func `each event has the listed outcome, and other events do nothing`(row: Row) throws {
        for (name, event) in Self.events {
            var machine = try Self.machine()
            machine.send(row.way)
            #expect(machine.state == row.state)
            let action = machine.send(event)
            let expected = row.outcomes[name] ?? ("none", row.state)
            #expect(action == expected.action, "\(name)")
            #expect(machine.state == expected.state, "\(name)")
        }
    }

    @Test func `the table lists every state and only existing events`() {
        #expect(Set(Self.rows.map(\.state)).count == Self.rows.count)
        let names = Set(Self.events.map(\.name))
        for row in Self.rows { #expect(names.isSuperset(of: row.outcomes.keys), "\(row.state)") }
    }
}
