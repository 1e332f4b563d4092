import FoundationEssentials
import HTTPCaching
import HTTPServer
import HTTPTypes
import ImageCache
import Testing

@testable import ImageProxyAdmin

@Suite struct AdminGuardTests {
    private func admission(_ token: String? = "secret") -> AdminGuard {
        AdminGuard(names: ["Admin.Example"]) { token }
    }

    @Test(
        arguments: [
            ("127.0.0.1:8081", true), ("10.1.2.3", true), ("[::1]:8081", true), ("[fe80::1]", true),
            ("localhost", true),
            ("LOCALHOST:1", true), ("x.localhost", true), ("admin.example:8081", true), ("admin.example.", true),
            ("evil.example", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example", false),
            ("admin.example.evil", false), ("evil-localhost", false),
        ] as [(String, Bool)])
    func `addresses, localhost and configured names are the listener's, other names are not`(
        host: String, isAdmitted: Bool
    ) throws {
        #expect(admission().admits(try #require(HostField(host.utf8))) == isAdmitted)
    }

    @Test(
        arguments: [
            ("Bearer secret", nil), ("bearer  secret", nil), ("Bearer secre", .wrong), ("Bearer secrets", .wrong),
            ("Bearer Secret", .wrong), ("Bearer secretsecret", .wrong), ("Bearer ", .missing),
            ("Basic secret", .missing),
            ("secret", .missing), (nil, .missing),
        ] as [(String?, AdminGuard.AuthorizationError?)])
    func `only the right token permits changes`(authorization: String?, error: AdminGuard.AuthorizationError?) {
        #expect(admission().authorizationError(authorization: authorization) == error)
    }

    @Test(arguments: [nil, "Bearer ", "Bearer secret"])
    func `no change is permitted if no token is configured`(authorization: String?) {
        #expect(admission(nil).authorizationError(authorization: authorization) == .notConfigured)
        #expect(admission("").authorizationError(authorization: "Bearer x") == .wrong)
    }
}

@Suite struct FreshnessWordsTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    private func words(_ cacheControl: String, age: Double, etag: String? = "\"1\"") -> FreshnessSummary {
        let rules = CacheRules(mode: .shared)
        var fields: HTTPFields = [.cacheControl: cacheControl]
        fields[.eTag] = etag
        let received = now.addingTimeInterval(-age)
        let stored = rules.stored(
            HTTPResponse(status: .ok, headerFields: fields), to: CacheRequest(url: "http://test/a"), redirects: [],
            requestTime: received, responseTime: received)
        return FreshnessSummary(rules.explain(stored, now: now))
    }

    @Test func `the summary says how long an entry is fresh, or what happens to a stale one`() {
        #expect(words("max-age=11520", age: 0).summary == "Fresh for 3 h 12 min")
        #expect(words("max-age=60", age: 60).state == .stale)
        #expect(
            words("max-age=60", age: 660).summary == "Stale for 10 min, revalidated first, served if the origin fails")
        #expect(words("max-age=60, must-revalidate", age: 660).summary == "Stale for 10 min, revalidated first")
        #expect(words("max-age=60", age: 660, etag: nil).summary == "Stale for 10 min, fetched anew")
        let whileRevalidated = words("max-age=60, stale-while-revalidate=3600", age: 120)
        #expect(whileRevalidated.summary == "Stale for 1 min, may be served while it is revalidated")
        #expect(whileRevalidated.next.contains("stale-while-revalidate"))
        let onError = words("max-age=60, stale-if-error=3600", age: 120)
        #expect(onError.summary == "Stale for 1 min, revalidated first, served if the origin fails")
        #expect(words("no-cache", age: 5).state == .confirm)
        #expect(FreshnessSummary(nil).state == .unknown)
    }
}

@Suite struct AdminResponseTests {
    @Test(
        arguments: [
            (#"{"url":"http://a/b"}"#, .target(.url("http://a/b"))),
            (#"{"prefix":"https://a/"}"#, .target(.prefix("https://a/"))),
            (#"{"host":"a.example"}"#, .target(.host("a.example"))), (#"{"all":true}"#, .target(.everything)),
            (#"{"origin":"shop"}"#, .origin("shop")),
            (#"{"all":false,"host":"a"}"#, .target(.host("a"))), (#"{"host":"[::1]"}"#, .target(.host("[::1]"))),
            (#"{"host":"A.Example."}"#, .target(.host("a.example."))),
            (#"{"host":"B\u00dccher.example"}"#, .target(.host("xn--bcher-kva.example"))),
        ] as [(String, PurgeCommand.Scope)])
    func `a purge names exactly one thing`(text: String, scope: PurgeCommand.Scope) throws {
        #expect(try PurgeCommand.scope(of: Array(text.utf8)) == scope)
    }

    @Test(arguments: [
        ("", PurgeCommand.ParsingError.notJSON), ("[]", .notJSON), (#"{"url":1}"#, .notJSON), ("{}", .notOne),
        (#"{"all":false}"#, .notOne), (#"{"url":"http://a/","all":true}"#, .notOne),
        (#"{"prefix":""}"#, .notURL("")),
        (#"{"prefix":"/a"}"#, .notURL("/a")), (#"{"host":""}"#, .notURL("")),
        (#"{"host":"http://a"}"#, .notURL("http://a")), (#"{"host":"a:80"}"#, .notURL("a:80")),
        (#"{"host":"[::1]:80"}"#, .notURL("[::1]:80")), (#"{"host":"a b"}"#, .notURL("a b")),
    ])
    func `any other purge is refused, and an empty prefix is not everything`(
        text: String, error: PurgeCommand.ParsingError
    ) {
        #expect(throws: error) { try PurgeCommand.scope(of: Array(text.utf8)) }
    }

    @Test func `an entry's number is read back from its text, and other texts are rejected`() {
        for id in [0, 1, .max, .min, 0x024d_bc2c_8000_0000] as [Int64] {
            #expect(EntryID.number(EntryID.text(id)) == id)
        }
        for text in ["", "g", "../1", "11111111111111111", "-1", "1 "] {
            #expect(EntryID.number(text) == nil, "\(text)")
        }
    }

    @Test func `transfers keep their names, also two of one URL, and the furthest comes first`() {
        func progress(_ received: Int64, _ change: (inout DownloadProgress) -> Void = { _ in }) -> DownloadProgress {
            var progress = DownloadProgress()
            progress.received = received
            progress.phase = .transferring
            change(&progress)
            return progress
        }
        let answer = TransfersResponse([
            ("http://a/1", progress(5)),
            (
                "http://a/2",
                progress(9) {
                    $0.resumedFrom = 4; $0.total = 20
                }
            ), ("http://a/1", progress(3)),
            ("http://a/3", progress(0) { $0.phase = .retrying(after: .milliseconds(1500), because: "cut") }),
        ])
        #expect(answer.transfers.map(\.id) == ["1 http://a/2", "1 http://a/1", "2 http://a/1", "1 http://a/3"])
        #expect(answer.transfers[0].resumedFrom == 4)
        #expect(answer.transfers[0].total == 20)
        #expect(answer.transfers[3].phase == "retrying")
        #expect(answer.transfers[3].retryAfter == 1.5)
        #expect(TransfersResponse([("http://a/1", progress(1)), ("http://a/2", progress(2))], limit: 1).more == 1)
    }

    @Test func `the page's files are in the binary, and each has its type`() throws {
        #expect(PageFile.all.count == 18)
        for file in PageFile.all {
            #expect(file.content.count > 100, "\(file.name)")
            #expect(file.tag.count > 4)
        }
        let page = String(decoding: PageFile.index.content, as: UTF8.self)
        // Nothing from elsewhere, and no script or style in it.
        #expect(
            !page.contains("http://") && !page.contains("https://") && !page.contains("<style")
                && !page.contains(" style="))
        #expect(!page.contains("<script>") && !page.contains(" onclick"))
    }
}
