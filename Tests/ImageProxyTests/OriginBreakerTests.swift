import Testing

@testable import ImageProxy

@Suite("The circuit breaker of an origin")
struct OriginBreakerTests {
    /// A breaker, and a clock that stands still until it is moved.
    private final class Subject {
        private var breaker: OriginBreaker
        var now = ContinuousClock.now
        private(set) var changes: [OriginBreaker.Change] = []

        init(failures: Int = 4) {
            var limits = OriginBreaker.Limits()
            limits.failures = failures
            breaker = OriginBreaker(limits)
        }

        var isAvailable: Bool { breaker.isAvailable }
        var isClosed: Bool { breaker.isClosed }

        func permit(_ client: String?, _ path: String = "/") -> OriginBreaker.Permit? {
            breaker.mayAsk(OriginBreaker.Asker(client: client, path: path), at: now)
        }

        func end(_ outcome: OriginBreaker.Outcome, _ permit: OriginBreaker.Permit?) {
            guard let permit, let change = breaker.finished(outcome, permit, at: now) else { return }
            changes.append(change)
        }

        /// Requests of a client, one after the other.
        ///
        /// - Returns: False if the last one was refused.
        @discardableResult
        func ask(_ client: String?, _ paths: [String], _ outcome: OriginBreaker.Outcome) -> Bool {
            var isLet = true
            for path in paths {
                let permit = permit(client, path)
                isLet = permit != nil
                end(outcome, permit)
            }
            return isLet
        }
    }

    private func paths(_ count: Int) -> [String] { (0..<count).map { "/bad/\($0)" } }

    @Test(arguments: [1, 9])
    func `failures of one client on any number of paths do not affect other clients`(distinctPaths: Int) {
        let subject = Subject()
        subject.ask("victim", ["/good"], .answered)
        for round in 0..<100 {
            subject.ask("attacker", [paths(distinctPaths)[round % distinctPaths]], .failed)
            #expect(subject.ask("victim", ["/good"], .answered), "round \(round)")
            #expect(subject.ask("newcomer \(round)", ["/other"], .answered), "round \(round)")
            #expect(subject.isAvailable)
        }
    }

    @Test func `a single client that fails on several paths is refused, and no other client is`() {
        let subject = Subject()
        subject.ask("attacker", paths(4), .failed)
        #expect(subject.permit("attacker", "/good") == nil && !subject.isAvailable)
        #expect(subject.changes == [.opened])
        // All at once, and not only one that tries.
        let others = ["a", "a", "b", nil].map { subject.permit($0) }
        #expect(others.allSatisfy { $0 != nil })
        for permit in others { subject.end(.answered, permit) }
        #expect(subject.permit("attacker") == nil && subject.isAvailable)
    }

    @Test func `a client that repeats one failing path is not refused`() {
        let subject = Subject()
        #expect(subject.ask("a", Array(repeating: "/bad", count: 100), .failed))
        #expect(subject.isClosed && subject.ask("a", ["/good"], .answered))
    }

    @Test func `failures are counted by their share`() {
        let subject = Subject()
        for round in 0..<100 {
            // A client with more successes than failures, on any number of paths.
            #expect(subject.ask("a", ["/bad/\(round)"], .failed) && subject.ask("a", ["/x", "/y"], .answered))
        }
        #expect(subject.isClosed)
    }

    @Test func `failures of most clients refuse all, and a client without failures probes first`() throws {
        let subject = Subject()
        for client in ["a", "b", "c"] { subject.ask(client, ["/x"], .failed) }
        #expect(subject.isClosed)
        subject.ask("a", ["/x"], .failed)
        #expect(!subject.isAvailable && subject.changes == [.opened])
        for client in ["a", "b", "c"] { #expect(subject.permit(client) == nil, "\(client)") }
        let trial = try #require(subject.permit("d"))
        #expect(subject.permit("e") == nil, "one at a time")
        subject.end(.answered, trial)
        #expect(subject.isClosed && subject.changes == [.opened, .closed])
        #expect(subject.permit("a") != nil)
    }

    @Test func `a breaker that is open for one client says when it opens for all`() throws {
        let subject = Subject()
        for client in ["a", "b", "c"] { subject.ask(client, ["/good"], .answered) }
        subject.ask("x", paths(4), .failed)
        #expect(subject.permit("x") == nil && subject.isAvailable && subject.changes == [.openedForSome])
        subject.ask("a", ["/good"], .failed)
        #expect(subject.isAvailable && subject.changes == [.openedForSome])
        // Begun before: its failure changes nothing more.
        let late = try #require(subject.permit("d"))
        subject.ask("b", ["/good"], .failed)
        #expect(!subject.isAvailable && subject.changes == [.openedForSome, .opened])
        subject.end(.failed, late)
        #expect(subject.changes == [.openedForSome, .opened])
        let trial = try #require(subject.permit("c"))
        subject.end(.answered, trial)
        #expect(subject.isClosed && subject.changes == [.openedForSome, .opened, .closed])
    }

    @Test func `a failing client's probe does not delay another client's, and its failure is then ignored`() throws {
        let subject = Subject()
        for client in ["a", "b"] { subject.ask(client, ["/x", "/x"], .failed) }
        #expect(subject.permit("a") == nil)
        subject.now += .seconds(1)
        let attackers = try #require(subject.permit("a"))
        #expect(subject.permit("b") == nil, "one at a time")
        let others = try #require(subject.permit("c"))
        subject.end(.failed, attackers)
        subject.end(.answered, others)
        #expect(subject.isClosed)
    }

    @Test func `a minority of failing clients does not affect the others`() {
        let subject = Subject()
        for client in ["a", "b", "c"] { subject.ask(client, ["/good"], .answered) }
        for round in 0..<20 {
            subject.ask("x", paths(3), .failed)
            subject.ask("y", paths(3), .failed)
            for client in ["a", "b", "c"] { #expect(subject.ask(client, ["/good"], .answered), "\(client), \(round)") }
        }
    }

    @Test func `two failing clients do not affect others with few successful requests`() {
        let subject = Subject(failures: 10)
        for round in 0..<20 {
            for failure in 0..<9 {
                subject.ask(failure.isMultiple(of: 2) ? "x" : "y", ["/bad"], .failed)
                // After these the others' last requests are more than a minute old.
                subject.now += .seconds(7)
            }
            let others = ["a", "b"].map { subject.permit($0) }
            #expect(others.allSatisfy { $0 != nil }, "round \(round)")
            for permit in others { subject.end(.answered, permit) }
        }
        #expect(subject.isClosed && subject.changes.isEmpty)
    }

    @Test func `a failed probe doubles the pause, a cancelled one is repeated, and an endless one is given up`()
        throws
    {
        let subject = Subject()
        subject.ask("a", paths(4), .failed)
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            subject.now += .seconds(pause) - .milliseconds(1)
            #expect(subject.permit("a") == nil, "\(pause)")
            subject.now += .milliseconds(1)
            let cancelled = try #require(subject.permit("a"))
            subject.end(.unknown, cancelled)
            let failed = try #require(subject.permit("a"))
            subject.end(.failed, failed)
        }
        subject.now += .seconds(30)
        let lost = try #require(subject.permit("a"))
        subject.now += .seconds(39)
        #expect(subject.permit("a") == nil)
        subject.now += .seconds(1)
        let next = try #require(subject.permit("a"))
        subject.end(.answered, lost)
        #expect(!subject.isClosed)
        subject.end(.answered, next)
        #expect(subject.isClosed && subject.ask("a", paths(3), .failed), "the count begins again")
    }

    @Test func `requests from before the circuit opened do not count, and clients are forgotten after a minute`() throws
    {
        let subject = Subject()
        let old = try #require(subject.permit("a"))
        subject.ask("a", paths(4), .failed)
        subject.end(.answered, old)
        #expect(subject.permit("a") == nil)
        let other = Subject()
        other.ask("a", paths(3), .failed)
        other.now += .seconds(61)
        other.ask("a", paths(3), .failed)
        #expect(other.isClosed)
    }

    @Test func `a sudden failure of an origin with many clients opens the circuit after a few requests`() {
        let subject = Subject(failures: 10)
        let clients = (0..<500).map { "client \($0)" }
        for _ in 0..<10 { for client in clients { subject.ask(client, ["/good"], .answered) } }
        var refused: Int?
        for (index, client) in clients.enumerated() where refused == nil {
            subject.ask(client, ["/good"], .failed)
            if !subject.isAvailable { refused = index }
        }
        #expect(refused == 10, "more than half of the last twenty")
    }
}
