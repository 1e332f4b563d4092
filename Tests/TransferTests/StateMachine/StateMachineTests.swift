import HTTPTypes
import Testing

@testable import Transfer

@Suite struct TransferStateMachineTests {
    private func receiving(_ request: TransferRequest = Sample.request()) throws -> MachineUnderTest {
        var machine = try MachineUnderTest(request)
        machine.send([.start, .learn(nil), .start, Sample.ok(100)])
        return machine
    }

    @Test func `all bytes that crossed the network count, including unwanted ones`() throws {
        var machine = try receiving()
        machine.send([.piece(10), .wrote(10), .piece(91)])
        #expect(machine.machine.history.bytesReceived == 101)
        #expect(machine.machine.history.progress == .init(base: 0, received: 10, total: 100))
        var status = try MachineUnderTest(Sample.request())
        status.send([.start, .learn(nil), .start, Sample.head(404), .judge, .piece(7)])
        #expect(status.machine.history.bytesReceived == 7)
    }

    @Test func `a redirect's body does not count as received`() throws {
        var machine = try MachineUnderTest(Sample.request())
        machine.send([.start, .learn(nil), .start, Sample.redirect(to: "/b"), .piece(7)])
        #expect(machine.machine.history.bytesReceived == 0)
    }

    @Test func `an error states the number of attempts and the received bytes`() throws {
        var machine = try receiving(Sample.request { $0.options.retry.maxRetries = 1 })
        machine.send([.piece(10), .wrote(10), .fails(.cut), .sinkOK, .canRestart(nil), .start])
        let action = machine.machine.cancel()
        guard case .finish(.failure(let error)) = action else { throw Failure() }
        #expect(error.attempts == 2)
        #expect(error.bytesReceived == 10)
        #expect(error.url == Sample.url)
    }

    /// Sends parts of equal length, each less than what was asked for, until the machine wants no more.
    private func requests(of length: Int64, total: Int64) throws -> (count: Int64, last: String) {
        var machine = try MachineUnderTest(Sample.request())
        machine.send([.start, .learn(Sample.held(1, of: total))])
        var (count, held, last): (Int64, Int64, String) = (0, 1, "again")
        while last == "again" {
            let end = min(held + length, total)
            machine.send([.start, Sample.part(held...end - 1, of: total), .piece(end - held), .wrote(end - held), .end])
            last = machine.send(.sinkOK)
            if last == "load partial" { last = machine.send(.learn(Sample.held(end, of: total))) }
            (count, held) = (count + 1, end)
        }
        return (count, last)
    }

    @Test func `a server that sends a byte for each range is asked a limited number of times`() throws {
        let (count, last) = try requests(of: 1, total: 1_000_000)
        #expect(count == TransferStateMachine.freeShortParts + 1)
        #expect(last == "failed protocolViolation: the server sent only \(count) bytes in \(count) responses to ranges")
    }

    @Test(arguments: [TransferStateMachine.leastPart, 1 << 20])
    func `a server that shortens ranges to useful parts is asked for all of them`(_ length: Int64) throws {
        let (count, last) = try requests(of: length, total: 1 + 300 * length)
        #expect(count == 300)
        #expect(last == "body from 1")
    }

    @Test func `redirects belong to the head and are not attempts`() throws {
        var machine = try MachineUnderTest(Sample.request())
        machine.send([.start, .learn(nil), .start, Sample.redirect(to: "/b"), .end, .start, Sample.head(404)])
        guard case .finish(.success(let result)) = machine.machine.exchangeEnded(.complete, at: machine.now) else {
            throw Failure()
        }
        #expect(result.attempts == 1)
        #expect(result.head.redirects.map(\.url) == [Sample.url])
        #expect(result.head.finalURL == "http://a.example/b")
    }

    @Test func `the result has the reasons for dropping held bytes`() throws {
        var machine = try MachineUnderTest(Sample.request())
        machine.send([.start, .learn(Sample.held(40)), .start, Sample.head(416), .end, .sinkOK, .start])
        machine.send([Sample.ok(0), .end])
        guard case .finish(.success(let result)) = machine.machine.sinkSucceeded() else {
            throw Failure()
        }
        #expect(result.restarts == ["416: the server has no such range"])
        #expect(result.resumedFrom == 0)
        #expect(result.attempts == 2)
    }

    @Test func `an endpoint that the policy refuses gets no request`() throws {
        let policy = AddressPolicy.publicOnly(where: { $0.host != "b.example" })
        var machine = try MachineUnderTest(Sample.request(), rules: .init(addressPolicy: policy))
        machine.send([.start, .learn(nil), .start, Sample.redirect(to: "http://b.example/"), .end])
        #expect(
            machine.send(.start) == "failed addressRefused: b.example:80 is none of those that may be asked")
    }

    private struct Failure: Error {}

    // MARK: Stalls

    private func isStalled(
        after seconds: Int64, _ events: [MachineUnderTest.Event], uploaded: Int64 = 0, sentAfter: Duration? = .zero
    ) throws -> Bool {
        var machine = try MachineUnderTest(Sample.request { $0.options.stallTimeout = .seconds(10) })
        machine.send([.start, .learn(nil), .start] + events)
        return machine.machine.stall(
            at: machine.now + .seconds(seconds), uploaded: uploaded, sentAfter: sentAfter) != nil
    }

    @Test func `a request that gets no response stalls, counted from when it was sent`() throws {
        #expect(try !isStalled(after: 10, []))
        #expect(try isStalled(after: 11, []))
        #expect(try !isStalled(after: 11, [], sentAfter: .seconds(2)))
        #expect(try !isStalled(after: 100, [], sentAfter: nil), "it is still connecting")
    }

    @Test func `sending content is not a stall`() throws {
        #expect(try !isStalled(after: 11, [], uploaded: 5))
    }

    @Test func `an unfinished head stalls, and a complete head starts the wait again`() throws {
        #expect(try isStalled(after: 11, [.headBegan], sentAfter: nil))
        #expect(try !isStalled(after: 10, [.wait(.seconds(9)), Sample.head(404)]))
        #expect(try isStalled(after: 11, [.wait(.seconds(9)), Sample.head(404)]))
    }

    @Test func `an interim response starts the wait again`() throws {
        let interim: [MachineUnderTest.Event] = [.wait(.seconds(9)), .headBegan, .wait(.seconds(1)), .interim(102)]
        #expect(try !isStalled(after: 10, interim))
        #expect(try isStalled(after: 11, interim))
        #expect(try isStalled(after: 11, interim + [.headBegan]), "the next head does not end")
    }

    @Test func `a body stalls unless it is paused`() throws {
        let body = [Sample.ok(100), .piece(1), .wrote(1)]
        #expect(try isStalled(after: 11, body))
        #expect(try !isStalled(after: 1000, body + [.piece(1), .sinkPauses]))
    }

    /// The codes of the stalls that are found once a second, while so many bytes arrive in each.
    private func stalls(_ bytes: [Int64], pausedFor pause: Int64 = 0) throws -> [TransferError.Code?] {
        var machine = try MachineUnderTest(
            Sample.request {
                $0.options.stallTimeout = .seconds(3)
                $0.options.minimumRate = 10
            })
        machine.send([.start, .learn(nil), .start, Sample.ok(1000)])
        if pause > 0 { machine.send([.piece(1), .sinkPauses, .wait(.seconds(pause)), .sinkResumes]) }
        return bytes.map { count in
            machine.send([.wait(.seconds(1)), .piece(count), .wrote(count)])
            return machine.machine.stall(at: machine.now, uploaded: 0, sentAfter: .zero)?.code
        }
    }

    @Test func `a body below the minimum rate for a whole period has stalled`() throws {
        #expect(try stalls([10, 10, 10, 10, 10]) == [nil, nil, nil, nil, nil])
        // The first second opens the period.
        #expect(try stalls([10, 9, 10, 10]) == [nil, nil, nil, .tooSlow])
        #expect(try stalls([0, 0, 0, 31, 0]) == [nil, nil, nil, nil, nil], "it was fast enough on average")
        #expect(try stalls([10, 10, 10, 9], pausedFor: 100) == [nil, nil, nil, .tooSlow])
        #expect(try stalls([10, 10, 10, 10], pausedFor: 100) == [nil, nil, nil, nil], "the sink had paused it")
    }

    @Test func `an attempt that was too slow counts as one without progress`() throws {
        var machine = try MachineUnderTest(Sample.request { $0.options.retry.maxRetries = 1 })
        machine.send([.start, .learn(nil), .start, Sample.ok(100), .piece(50), .wrote(50), .tooSlow, .sinkOK])
        #expect(machine.send(.canRestart(Sample.held(50, of: 100))).hasPrefix("wait"))
        machine.send([.start, Sample.part(50...99), .piece(20), .wrote(20), .tooSlow, .sinkOK])
        let end = machine.send(.canRestart(Sample.held(70, of: 100)))
        #expect(end.contains("1 retry without progress"), "\(end)")
    }

    @Test func `a redirect's body is waited for two seconds`() throws {
        #expect(try !isStalled(after: 2, [Sample.redirect(to: "/b")]))
        #expect(try isStalled(after: 3, [Sample.redirect(to: "/b")]))
    }
}
