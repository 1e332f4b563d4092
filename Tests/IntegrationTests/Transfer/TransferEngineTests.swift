import ConcurrencyPrimitives
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Transfer

/// Everything of the engine that is not resuming: statuses, redirects, credentials, limits, pauses, ends.
@Suite(.fewAtATime) struct TransferEngineTests {
    private let representation = Representation(seed: 3, size: 200_000)

    // MARK: Statuses

    @Test(arguments: [400, 401, 403, 404, 410, 501])
    func `an error status ends the transfer at once, and its page never reaches the sink`(_ status: Int) async throws {
        let origin = try ScriptedOrigin { _ in .status(status) }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .status)
        #expect(result.head.status.code == status)
        #expect(result.attempts == 1)
        #expect(sink.begins == 0)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func `a temporary error status is tried again`(_ status: Int) async throws {
        let origin = try ScriptedOrigin { [representation] in
            $0.number < 3 ? .status(status) : Behaviour(representation)
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .body)
        #expect(result.attempts == 3)
        #expect(sink.bytes == representation.content.bytes())
    }

    @Test func `an empty query is sent, but not to a redirect's target`() async throws {
        let origin = try ScriptedOrigin { [representation] in
            $0.target == "/a?" ? .redirect(to: "/b/../c%2E") : Behaviour(representation)
        }
        let sink = PartialSink()
        _ = try await TransferEngine().run(TransferRequest(testing: origin.url("/a?")), into: sink)
        #expect(origin.requests.map(\.request.target) == ["/a?", "/c%2E"])
        #expect(sink.bytes == representation.content.bytes())
    }

    @Test func `a lasting error status ends the retries`() async throws {
        let origin = try ScriptedOrigin { _ in .status(503) }
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.retry.maxRetries = 2 }, into: PartialSink())
        #expect(result.outcome == .status)
        #expect(result.attempts == 3)
        #expect(result.retriesEnded == "2 retries without progress")
    }

    @Test(arguments: ["3600", httpDate(Date() + 7200)])
    func `a Retry-After beyond the limit, as seconds or as a date, ends the retries`(_ value: String) async throws {
        let origin = try ScriptedOrigin { _ in .status(503, fields: [("Retry-After", value)]) }
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: PartialSink())
        #expect(result.attempts == 1)
        #expect(result.retriesEnded?.contains("more than the limit of 300 s") == true)
    }

    @Test func `a Retry-After is waited for`() async throws {
        let origin = try ScriptedOrigin { [representation] in
            $0.number == 1 ? .status(429, fields: [("Retry-After", "1")]) : Behaviour(representation)
        }
        let events = EventLog()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()), into: PartialSink(), events: events.note)
        #expect(result.outcome == .body)
        let pauses = events.all.compactMap { event in
            if case .retrying(let pause, _) = event { pause } else { nil }
        }
        #expect(pauses == [.seconds(1)])
    }

    @Test func `a large error page is abandoned with its connection`() async throws {
        let page = Representation(seed: 1, size: 50_000_000)
        let origin = try ScriptedOrigin { request in
            [
                .head(status: 404, fields: [("Transfer-Encoding", "chunked")]),
                .chunks(page.content, 0..<page.size, chunkSize: 10_000),
            ]
        }
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: PartialSink())
        #expect(result.head.status == .notFound)
        #expect(result.bytesReceived < 200_000)
    }

    @Test(arguments: [0, 100])
    func `an error page that stalls does not hold up its status`(_ bytes: Int) async throws {
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 404, fields: [("Content-Length", "1000")]),
                .body([UInt8](repeating: 0x20, count: bytes)), .stall,
            ]
        }
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.stallTimeout = .milliseconds(300) },
            into: PartialSink())
        #expect(result.head.status == .notFound)
    }

    @Test func `a 304 to the request's own precondition is an answer`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.fields[.ifNoneMatch] = "\"v3\"" }, into: sink)
        #expect(result.outcome == .notModified)
        #expect(result.head.fields[.eTag] == "\"v3\"")
        #expect(sink.begins == 0)
    }

    @Test func `a Location in a 304 is not followed`() async throws {
        let origin = try ScriptedOrigin { _ in .status(304, fields: [("Location", "/elsewhere")]) }
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.fields[.ifNoneMatch] = "\"v3\"" }, into: PartialSink())
        #expect(result.outcome == .notModified)
        #expect(origin.requests.count == 1)
    }

    @Test func `HEAD gives the head and nothing else`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.method = .head }, into: sink)
        #expect(result.outcome == .status)
        #expect(result.head.status == .ok)
        #expect(sink.calls == [])
        #expect(origin.requests.map(\.request.method) == ["HEAD"])
    }

    @Test func `an empty body is a complete body`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 1, size: 0))
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        #expect(result.outcome == .body)
        #expect(sink.calls == [.held, .begin(.whole(length: 0)), .end(.complete)])
    }

    @Test(arguments: ["POST", "PUT", "REPORT"])
    func `a request with content is sent once and not repeated`(_ method: String) async throws {
        let origin = try ScriptedOrigin { [representation] request in
            request.method == "POST" ? .status(503) : Behaviour(representation)
        }
        let content = Array("some content".utf8)
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) {
                $0.method = HTTPRequest.Method(method) ?? .get
                $0.body = content
            }, into: PartialSink())
        #expect(result.attempts == 1)
        #expect(origin.requests.map(\.request.method) == [method])
        #expect(origin.requests.first?.request.body == content)
    }

    @Test func `a range in the request is refused`() async throws {
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: "http://127.0.0.1/") { $0.fields[.range] = "bytes=0-1" },
                into: PartialSink())
        }
        #expect(error?.code == .invalidRequest)
    }

    // MARK: Redirects and credentials

    @Test func `redirects are followed and remembered`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            switch request.path {
            case "/1": .redirect(to: "/2", status: 301, cacheControl: "no-store")
            case "/2": .redirect(to: "3?x=y", status: 307)
            default: Behaviour(representation)
            }
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(TransferRequest(testing: origin.url("/1#part")), into: sink)
        #expect(result.head.finalURL == origin.url("/3?x=y"))
        #expect(result.head.redirects.map(\.url) == [origin.url("/1"), origin.url("/2")])
        #expect(result.head.redirects.map(\.status.code) == [301, 307])
        #expect(result.head.redirects.first?.fields[.cacheControl] == "no-store")
        #expect(sink.bytes == representation.content.bytes())
    }

    @Test func `redirects in a circle end with a typed error`() async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: "/again") }
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: origin.url()) { $0.options.maxRedirects = 3 }, into: PartialSink())
        }
        #expect(error?.code == .tooManyRedirects)
        #expect(origin.requests.count == 4)
    }

    @Test func `with no redirect allowed, the redirect is the answer`() async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: "/again") }
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.maxRedirects = 0 }, into: PartialSink())
        #expect(result.outcome == .status)
        #expect(result.head.status == .found)
        #expect(result.head.redirects.isEmpty)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "dict://127.0.0.1/x"])
    func `a redirect to anything but http and https is refused`(_ target: String) async throws {
        let origin = try ScriptedOrigin { _ in .redirect(to: target) }
        let sink = PartialSink()
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(TransferRequest(testing: origin.url()), into: sink)
        }
        #expect(error?.code == .badRedirect)
        #expect(sink.begins == 0)
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://h/", "scp://h/x", "/relative", "", "http://", "http://h/\0/x", "http://a b/",
        "nonsense:",
    ])
    func `only http and https URLs are taken`(_ url: String) async throws {
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(TransferRequest(testing: url), into: PartialSink())
        }
        #expect(error?.code == .unsupportedURL)
    }

    @Test(arguments: [false, true])
    func `credentials are sent only to their own origin, to which the port belongs`(inURL: Bool) async throws {
        let other = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { [other] request in
            request.path == "/out" ? .redirect(to: other.url("/in")) : .redirect(to: "/out")
        }
        let base = origin.url("/start")
        let url = inURL ? base.replacing("http://", with: "http://user:pass%20word@") : base
        let events = EventLog()
        let result = try await TransferEngine().run(
            TransferRequest(testing: url) {
                $0.fields[.cookie] = "session=secret"
                $0.options.reportsHeads = true
                if !inURL { $0.options.credentials = .init(user: "user", password: "pass word") }
            }, into: PartialSink(), events: events.note)
        let basic = "Basic " + Data("user:pass word".utf8).base64EncodedString()
        #expect(origin.requests.map { $0["authorization"] } == [basic, basic])
        #expect(origin.requests.map { $0["cookie"] } == ["session=secret", "session=secret"])
        #expect(other.requests.map { $0["authorization"] } == [nil])
        #expect(other.requests.map { $0["cookie"] } == [nil])
        #expect(!result.head.redirects.contains { $0.url.contains("user") })
        let shown = events.all.map { "\($0)" }.joined()
        #expect(shown.contains("GET /start HTTP/1.1"))
        for secret in ["secret", "pass", basic] { #expect(!shown.contains(secret)) }
    }

    @Test func `an Authorization field goes to its own origin only`() async throws {
        let other = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { [other] _ in .redirect(to: other.localhostURL()) }
        _ = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.fields[.authorization] = "Bearer token" }, into: PartialSink())
        #expect(origin.requests.map { $0["authorization"] } == ["Bearer token"])
        #expect(other.requests.map { $0["authorization"] } == [nil])
    }

    @Test func `a given netrc file provides its host's credentials, and the user's own is not read`() async throws {
        let directory = try TestDirectory()
        let netrc = directory.path("netrc")
        try "machine 127.0.0.1 login me password hidden\n".write(toFile: netrc, atomically: true, encoding: .utf8)
        let origin = try ScriptedOrigin(serving: representation)
        let engine = TransferEngine()
        _ = try await engine.run(
            TransferRequest(testing: origin.url()) { $0.options.netrc = .path(netrc) }, into: PartialSink())
        _ = try await engine.run(TransferRequest(testing: origin.url()), into: PartialSink())
        let basic = "Basic " + Data("me:hidden".utf8).base64EncodedString()
        #expect(origin.requests.map { $0["authorization"] } == [basic, nil])
    }

    @Test func `a netrc password does not follow a redirect to a host that netrc names without one`() async throws {
        let directory = try TestDirectory()
        let netrc = directory.path("netrc")
        try "machine 127.0.0.1 login me password hidden\nmachine localhost\ndefault\n".write(
            toFile: netrc, atomically: true, encoding: .utf8)
        let other = try ScriptedOrigin(serving: representation)
        let origin = try ScriptedOrigin { _ in .redirect(to: other.localhostURL()) }
        _ = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.netrc = .path(netrc) }, into: PartialSink())
        #expect(origin.requests.first?["authorization"] != nil)
        let sent = other.requests.compactMap { $0["authorization"] }.compactMap {
            Data(base64Encoded: String($0.dropFirst(6)))
        }
        #expect(!sent.contains { String(decoding: $0, as: UTF8.self).contains("hidden") })
    }

    @Test func `an error names the URL without the password`() async throws {
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: "http://user:secret@127.0.0.1:1/x") { $0.options.retry.maxRetries = 0 },
                into: PartialSink())
        }
        #expect(error?.code == .connect)
        #expect(error?.isRetryable == true)
        #expect(error?.url == "http://127.0.0.1:1/x")
        #expect("\(error as Any)".contains("secret") == false)
    }

    @Test func `a proxy is asked for the whole URL`() async throws {
        let proxy = try ScriptedOrigin(serving: representation)
        let result = try await TransferEngine().run(
            TransferRequest(testing: "http://nowhere.invalid/x") { $0.options.proxy = proxy.url("") },
            into: PartialSink())
        #expect(result.outcome == .body)
        #expect(proxy.requests.map(\.request.target) == ["http://nowhere.invalid/x"])
    }

    @Test func `the user agent and the fields are sent without allowing field injection`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let name = try #require(HTTPField.Name("X-Empty"))
        _ = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) {
                $0.options.userAgent = "me\r\nX-Evil: 1"
                $0.fields[name] = ""
                $0.fields[.acceptEncoding] = "gzip"
                $0.fields[.accept] = "image/png"
            }, into: PartialSink())
        let request = try #require(origin.requests.first)
        #expect(request["x-evil"] == nil)
        #expect(request["user-agent"]?.hasPrefix("me") == true)
        #expect(request["x-empty"] == "")
        #expect(request["accept-encoding"] == "identity")
        #expect(request["accept"] == "image/png")
    }

    // MARK: Limits

    @Test func `concurrent transfers are limited per origin and in total, and start by priority`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            behaviour.gate = gate
            return behaviour
        }
        var configuration = TransferEngine.Configuration()
        configuration.maxPerHost = 2
        let engine = TransferEngine(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            func add(_ path: String, _ priority: TransferPriority) {
                let request = TransferRequest(testing: origin.url(path)) { $0.priority = priority }
                group.addTask { _ = try await engine.run(request, into: PartialSink()) }
            }
            add("/a", .normal)
            add("/b", .normal)
            #expect(await origin.waits { $0.count == 2 })
            let queued = EventLog()
            for (path, priority) in [("/low", TransferPriority.background), ("/mid", .normal), ("/high", .high)] {
                let request = TransferRequest(testing: origin.url(path)) { $0.priority = priority }
                group.addTask { _ = try await engine.run(request, into: PartialSink(), events: queued.note) }
            }
            while queued.all.count < 3 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(origin.requests.count == 2)
            gate.open()
            try await group.waitForAll()
        }
        let order = origin.requests.map(\.request.path)
        #expect(Set(order.prefix(2)) == ["/a", "/b"])
        #expect(order.firstIndex(of: "/high").map { $0 < 4 } == true)
        #expect(order.last == "/low")
        #expect(origin.connections == 2)
    }

    @Test func `a body above the limit is refused, up front when its length is known`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            if request.path == "/chunked" { behaviour.framing = .chunked }
            return behaviour
        }
        let engine = TransferEngine()
        for path in ["/known", "/chunked"] {
            let sink = PartialSink()
            let error = await failure { () throws(TransferError) in
                try await engine.run(
                    TransferRequest(testing: origin.url(path)) { $0.options.maxFileSize = 199_999 }, into: sink)
            }
            #expect(error?.code == .tooLarge)
            #expect(sink.calls.last == (path == "/known" ? .held : .end(.discarded)))
        }
        let result = try await engine.run(
            TransferRequest(testing: origin.url("/chunked")) { $0.options.maxFileSize = 200_000 }, into: PartialSink())
        #expect(result.outcome == .body)
    }

    @Test func `a stalled transfer ends and keeps the received bytes`() async throws {
        let origin = try ScriptedOrigin { [representation] _ in
            var behaviour = Behaviour(representation)
            behaviour.stallAfter = 50_000
            return behaviour
        }
        let sink = PartialSink()
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: origin.url()) {
                    $0.options.stallTimeout = .seconds(3)
                    $0.options.retry.maxRetries = 0
                }, into: sink)
        }
        #expect(error?.code == .stalled)
        #expect(error?.bytesReceived == 50_000)
        #expect(sink.calls.last == .end(.cut))
        #expect(sink.bytes == representation.content.bytes(0..<50_000))
    }

    @Test func `stalls are resumed like cuts`() async throws {
        let origin = try ScriptedOrigin { [representation] request in
            var behaviour = Behaviour(representation)
            behaviour.stallAfter = 90_000
            return behaviour
        }
        let sink = PartialSink()
        let result = try await TransferEngine().run(
            TransferRequest(testing: origin.url()) { $0.options.stallTimeout = .milliseconds(500) }, into: sink)
        #expect(sink.bytes == representation.content.bytes())
        #expect(result.bytesReceived == 200_000)
        #expect(result.attempts >= 3)
    }

    @Test func `an attempt that takes too long is a time-out`() async throws {
        let origin = try ScriptedOrigin { [representation] _ in
            var behaviour = Behaviour(representation)
            behaviour.bytesPerSecond = 10_000
            return behaviour
        }
        let error = await failure { () throws(TransferError) in
            try await TransferEngine().run(
                TransferRequest(testing: origin.url()) {
                    $0.options.maxTime = .milliseconds(150)
                    $0.options.retry.maxRetries = 0
                }, into: PartialSink())
        }
        #expect(error?.code == .timeout)
        #expect(error?.isRetryable == true)
    }

    // MARK: Pauses and ends

    @Test func `transfers that wait behind stalled ones begin when those have ended`() async throws {
        let origin = try ScriptedOrigin { (_) -> [OriginStep] in [.stall] }
        let engine = TransferEngine()
        let ended = Locked(0)
        let all = Task {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let request = TransferRequest(testing: origin.url("/\(number)")) {
                            $0.options.stallTimeout = .milliseconds(200)
                            $0.options.retry.maxRetries = 0
                        }
                        let result = try? await engine.run(request, into: PartialSink())
                        if result == nil { ended.withLock { $0 += 1 } }
                    }
                }
            }
        }
        #expect(await eventually { ended.withLock { $0 } == 20 })
        await engine.shutDown()
        await all.value
    }

    @Test func `a paused transfer waits, does not stall, and loses nothing`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let sink = PartialSink()
        sink.pause()
        let engine = TransferEngine()
        let run = Task {
            try await engine.run(
                TransferRequest(testing: origin.url()) {
                    $0.options.stallTimeout = .milliseconds(150)
                    $0.options.retry.maxRetries = 50
                }, into: sink)
        }
        while !sink.hasPaused { try await Task.sleep(for: .milliseconds(1)) }
        let requests = origin.requests.count
        // More than three times the time after which it would count as stalled.
        try await Task.sleep(for: .milliseconds(500))
        #expect(sink.bytes.isEmpty)
        #expect(origin.requests.count == requests)
        sink.resume()
        #expect(try await run.value.outcome == .body)
        #expect(sink.bytes == representation.content.bytes())
    }

    @Test func `a cancelled task ends its transfer and keeps the received bytes`() async throws {
        let origin = try ScriptedOrigin { [representation] _ in
            var behaviour = Behaviour(representation)
            behaviour.stallAfter = 50_000
            return behaviour
        }
        let sink = PartialSink()
        let engine = TransferEngine()
        let run = Task { try await engine.run(TransferRequest(testing: origin.url()), into: sink) }
        while sink.bytes.count < 50_000 { try await Task.sleep(for: .milliseconds(1)) }
        run.cancel()
        let outcome = await run.result
        #expect(throws: TransferError.self) { try outcome.get() }
        #expect(sink.calls == [.held, .begin(.whole(length: 200_000)), .end(.cut)])
        #expect(await origin.waits { $0.first?.ending == .peerGone })
    }

    @Test func `a task that is cancelled before it starts, or while it waits, never transfers`() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [representation] _ in
            var behaviour = Behaviour(representation)
            behaviour.gate = gate
            return behaviour
        }
        var configuration = TransferEngine.Configuration()
        configuration.maxTransfers = 1
        let engine = TransferEngine(configuration: configuration)
        let first = Task { try await engine.run(TransferRequest(testing: origin.url("/1")), into: PartialSink()) }
        #expect(await origin.waits { $0.count == 1 })
        let sink = PartialSink()
        let events = EventLog()
        let waiting = Task {
            try await engine.run(TransferRequest(testing: origin.url("/2")), into: sink, events: events.note)
        }
        while events.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        waiting.cancel()
        #expect(await failed(waiting)?.code == .cancelled)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await engine.run(TransferRequest(testing: origin.url("/3")), into: sink)
        }
        #expect(await failed(early)?.code == .cancelled)
        gate.open()
        #expect(try await first.value.outcome == .body)
        #expect(origin.requests.count == 1)
        #expect(sink.calls == [.held])
    }

    @Test func `a sink's handle cancels its transfer`() async throws {
        let origin = try ScriptedOrigin { [representation] _ in
            var behaviour = Behaviour(representation)
            behaviour.stallAfter = 50_000
            return behaviour
        }
        let sink = PartialSink()
        let engine = TransferEngine()
        let run = Task { try await engine.run(TransferRequest(testing: origin.url()), into: sink) }
        while sink.bytes.count < 50_000 { try await Task.sleep(for: .milliseconds(1)) }
        sink.handle?.cancel()
        #expect(await failed(run)?.code == .cancelled)
    }

    @Test(arguments: ["begin", "write", "end"])
    func `a sink that throws ends its own transfer with its reason, and no other`(_ call: String) async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let engine = TransferEngine()
        let sink = PartialSink(throwing: call)
        let error = await failure { () throws(TransferError) in
            try await engine.run(TransferRequest(testing: origin.url()), into: sink)
        }
        #expect(error?.code == .refusedBySink)
        #expect(error?.cause as? PartialSink.Refusal == .init(call: call))
        #expect(sink.begins == 1)
        #expect(
            sink.calls.last
                == (call == "begin" ? .begin(.whole(length: 200_000)) : call == "write" ? .end(.cut) : .end(.complete)))
        let result = try await engine.run(TransferRequest(testing: origin.url()), into: PartialSink())
        #expect(result.outcome == .body)
    }

    @Test func `an engine that is shut down cancels running transfers and accepts no more`() async throws {
        let origin = try ScriptedOrigin { _ in [.stall] }
        let engine = TransferEngine()
        let run = Task { try await engine.run(TransferRequest(testing: origin.url()), into: PartialSink()) }
        #expect(await origin.waits { !$0.isEmpty })
        await engine.shutDown()
        #expect(await failed(run)?.code == .cancelled)
        let error = await failure { () throws(TransferError) in
            try await engine.run(TransferRequest(testing: origin.url()), into: PartialSink())
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `connections are used again`() async throws {
        let origin = try ScriptedOrigin(serving: representation)
        let engine = TransferEngine()
        for _ in 0..<5 { _ = try await engine.run(TransferRequest(testing: origin.url()), into: PartialSink()) }
        #expect(origin.connections == 1)
    }

    private func failed(_ task: Task<TransferResult, any Error>) async -> TransferError? {
        do {
            _ = try await task.value
            return nil
        } catch {
            return error as? TransferError
        }
    }
}
