import Foundation
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing
import Transfer

@testable import DiskStore
@testable import ImageCache

@Suite("The identity of requests")
struct RequestIdentityTests {
    private func request(_ name: HTTPField.Name, _ value: [UInt8]) -> FileRequest {
        var request = FileRequest("http://example.org/a")
        request.fields.append(HTTPField(name: name, lenientValue: value))
        return request
    }

    @Test func `requests whose fields differ in bytes that are not text do not share a load`() {
        #expect(FileKey(request(.cookie, [0xFF]), in: nil) != FileKey(request(.cookie, [0xFE]), in: nil))
        #expect(FileKey(request(.cookie, [0xFF]), in: nil) == FileKey(request(.cookie, [0xFF]), in: nil))
    }

    @Test func `texts that are equal only by canonical equivalence identify different requests`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let changes: [(inout FileRequest, String) -> Void] = [
            { $0.owner = $1 }, { $0.key = $1 }, { $0.version = $1 },
            { $0.transfer.credentials = TransferOptions.Credentials(user: $1, password: "p") },
            { $0.transfer.credentials = TransferOptions.Credentials(user: "u", password: $1) },
        ]
        for (index, change) in changes.enumerated() {
            let requests = [composed, decomposed, composed].map { text in
                FileRequest("http://example.org/a").with { change(&$0, text) }
            }
            #expect(Set(requests.map { FileKey($0, in: nil) }).count == 2, "\(index)")
        }
        for (name, change) in [("owner", changes[0]), ("user", changes[3])] {
            let requests = [composed, decomposed].map { text in
                FileRequest("http://example.org/a").with { change(&$0, text) }
            }
            #expect(Set(try requests.map { try ResolvedRequest($0, by: CacheRules()).key }).count == 2, "\(name)")
            #expect(Set(requests.map { ResourceKey($0, by: CacheRules()) }).count == 2, "\(name)")
        }
    }

    @Test func `credentials that differ in bytes that are not text have separate namespaces`() {
        let owners = [[0xFF], [0xFE], Array("a".utf8)].map {
            ResolvedRequest.namespace(of: request(.authorization, $0), userinfo: nil)
        }
        #expect(Set(owners).count == 3)
        // A SHA-256 that never changes, so that stored responses are found again.
        #expect(owners[2].text == "authorization:ffe9aaeaa2a2d5048174df0b80599ef0197ec024c4b051bc9860cff58ef7f9f3")
    }

    /// Requests for one URL that differ in what decides of the result.
    private static let differing: [@Sendable (FileRequest) -> FileRequest] = [
        { $0 }, { $0.with { $0.policy = .reloadIgnoringLocalCacheData } },
        { $0.with { $0.policy = .maxStale(seconds: 5) } },
        { $0.with { $0.sha256 = String(repeating: "a", count: 64) } },
        { $0.with { $0.freshnessOverride = FreshnessOverride(seconds: 60) } },
        { $0.with { $0.fields[.cacheControl] = "no-cache" } },
        { $0.with { $0.fields[HTTPField.Name("Pragma") ?? .accept] = "no-cache" } },
        { $0.with { $0.transfer.maxFileSize = 5 } },
    ]

    @Test func `requests share a response only when policy, SHA-256, lifetime, directives and options are equal`()
        throws
    {
        let requests = Self.differing.map { $0(FileRequest("http://example.org/a")) }
        let terms = try requests.map { FetchTerms(try ResolvedRequest($0, by: CacheRules())) }
        #expect(Set(terms).count == terms.count)
        #expect(Set(requests.map { FileKey($0, in: nil) }).count == terms.count)
        // A request for something newer, or for certain bytes, does not join an earlier one.
        #expect(
            terms.map { $0.mayFollow(terms[0], length: 1) } == [true, false, false, false, false, false, false, true])
        #expect(!terms[0].mayFollow(terms[3], length: 1))
    }

    @Test func `only requests that allow the file of another URL share a load that may return it`() {
        let plain = FileRequest("http://example.org/a")
        let reusing = plain.with { $0.reusesEqualBodies = true }
        #expect(FileKey(plain, in: nil) != FileKey(reusing, in: nil))
        #expect(FileKey(reusing, in: nil) == FileKey(reusing, in: nil))
    }

    @Test func `an image in memory answers only requests with the same limits, SHA-256 and lifetime`() {
        var requests = [Self.differing[0], Self.differing[3], Self.differing[4]].map {
            ImageRequest($0(FileRequest("http://example.org/a")))
        }
        var small = requests[0]
        small.decoder.limits.pixels = 10
        requests.append(small)
        #expect(Set(requests.map { ImageKey($0, .pixels, by: CacheRules()) }).count == requests.count)
    }

    @Test func `what selects a variant is part of every key in memory, also in the transfer options`() throws {
        let directory = try TestDirectory()
        let file = directory.path("cookies")
        try Data("a".utf8).write(to: URL(filePath: file))
        func keys(_ change: (inout FileRequest) -> Void) -> [AnyHashable] {
            let request = FileRequest("http://example.org/a").with(change)
            return [
                ValueMemory.Key(request, as: Int.self, by: CacheRules()),
                ImageKey(ImageRequest(request), .pixels, by: CacheRules()), FileKey(request, in: nil),
            ]
        }
        let plain = keys { _ in }
        let first = keys { $0.transfer.cookieFile = file }
        #expect(first == keys { $0.transfer.cookieFile = file })
        try Data("bc".utf8).write(to: URL(filePath: file))
        let all = [
            plain, first, keys { $0.transfer.cookieFile = file },
            keys { $0.transfer.cookieFile = directory.path("other") }, keys { $0.transfer.userAgent = "a" },
            keys { $0.transfer.userAgent = "b" }, keys { $0.fields[.cookie] = "a" },
        ]
        for place in plain.indices { #expect(Set(all.map { $0[place] }).count == all.count, "\(place)") }
    }
}

extension FileRequest {
    fileprivate func with(_ change: (inout FileRequest) -> Void) -> FileRequest {
        var request = self
        change(&request)
        return request
    }
}
