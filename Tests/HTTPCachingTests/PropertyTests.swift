import Foundation
import HTTPSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Properties that hold for any fields")
struct PropertyTests {
    static let names = [
        "Cache-Control", "CDN-Cache-Control", "Age", "Date", "Expires", "ETag", "Last-Modified", "Vary",
        "Content-Range", "Content-Length", "Range",
        "If-None-Match", "If-Modified-Since", "If-Range", "Pragma", "Authorization", "Connection", "Location",
        "Content-Location", "Accept-Encoding",
    ]
    static let pieces = [
        "max-age", "s-maxage", "no-store", "no-cache", "private", "public", "must-revalidate", "proxy-revalidate",
        "must-understand", "immutable",
        "stale-while-revalidate", "stale-if-error", "max-stale", "min-fresh", "only-if-cached", "=", ",", ", ", "\"",
        "\\", "0", "1", "60", "-1",
        "99999999999999999999", "1.5", "*", "W/", "\"a\"", "\"b\"", "bytes", "bytes=", "bytes ", "0-0", "0-", "-5", "/",
        "/100", "/*", "Set-Cookie",
        "Accept-Encoding", "gzip", "br", ";q=0.5", "Thu, 01 Jan 2026 00:00:00 GMT", "Wed, 31 Dec 2025 00:00:00 GMT",
        "Thursday, 01-Jan-26 00:00:00 GMT", "Thu Jan  1 00:00:00 2026", "GMT", " ", "\t", "é", "\u{ff}", ";", "(", ")",
        ":", "?0", "?1",
        "https://example.org/", "//", "..", "%", "%2e", "#", "@", "9223372036854775807",
    ]

    /// The number of random requests; a million before a release, by the environment variable.
    static let rounds = ProcessInfo.processInfo.environment["HTTP_CACHING_PROPERTY_ROUNDS"].flatMap { Int($0) } ?? 300

    struct Random {
        var generator: SeededGenerator

        mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }

        mutating func text() -> [UInt8] {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                if chance(12) {
                    bytes.append(UInt8.random(in: 0...255, using: &generator))
                } else if let piece = PropertyTests.pieces.randomElement(using: &generator) {
                    bytes.append(contentsOf: piece.utf8)
                }
            }
            return bytes
        }

        mutating func fields() -> HTTPFields {
            var fields = HTTPFields()
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                guard let name = PropertyTests.names.randomElement(using: &generator).flatMap({ HTTPField.Name($0) })
                else { continue }
                fields.append(HTTPField(name: name, lenientValue: text()))
            }
            return fields
        }

        mutating func seconds() -> Double {
            chance(20)
                ? Double(Int64.random(in: .min ... .max, using: &generator))
                : Double.random(in: -200_000...200_000, using: &generator)
        }

        mutating func request() -> CacheRequest {
            let policies: [CachePolicy] = [
                .useProtocolCachePolicy, .useProtocolCachePolicy, .useProtocolCachePolicy, .reloadRevalidatingCacheData,
                .returnCacheDataDontLoad, .returnCacheDataElseLoad, .maxStale(seconds: 60),
                .reloadIgnoringLocalCacheData,
            ]
            return CacheRequest(
                method: chance(4) ? .head : (chance(6) ? .post : .get), url: "https://example.org/a", fields: fields(),
                policy: policies.randomElement(using: &generator) ?? .useProtocolCachePolicy,
                freshnessOverride: chance(10)
                    ? FreshnessOverride(seconds: Int.random(in: .min ... .max, using: &generator)) : nil)
        }

        mutating func response() -> HTTPResponse {
            let codes = [
                200, 200, 200, 206, 206, 204, 301, 302, 304, 404, 416, 500, 103,
                Int.random(in: 0...999, using: &generator),
            ]
            return HTTPResponse(
                status: .init(code: codes.randomElement(using: &generator) ?? 200), headerFields: fields())
        }
    }

    @Test(arguments: [CacheMode.private, .shared])
    func
        `random fields: no trap, the same input gives the same decision, no-store is never stored, no lifetime is negative`(
            mode: CacheMode
        ) throws
    {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = Random(generator: SeededGenerator(seed: seed))
        let rules = CacheRules(mode: mode)
        for round in 0..<Self.rounds {
            let comment: Comment = "seed \(seed), round \(round)"
            let request = random.request()
            var stored: [StoredResponse] = []
            for _ in 0..<Int.random(in: 1...3, using: &random.generator) {
                let response = random.response()
                let storability = rules.storability(of: response, to: request, receivedAt: now)
                try #require(storability == rules.storability(of: response, to: request, receivedAt: now), comment)
                if case .store(let terms) = storability {
                    try #require(terms.lifetime >= 0, comment)
                    let directives =
                        mode == .shared
                        ? ResponseDirectives(targeted: ["cdn-cache-control"], in: response.headerFields) : nil
                    let flags = (directives ?? ResponseDirectives(response.headerFields)).flags
                    try #require(!flags.contains(.noStore) || flags.contains(.mustUnderstand), comment)
                    try #require((200...599).contains(response.status.code) && response.status.code != 304, comment)
                }
                stored.append(
                    rules.stored(
                        response, to: request,
                        redirects: random.chance(5) ? [StoredHead(status: 302, fields: random.fields())] : [],
                        requestTime: now + random.seconds(), responseTime: now + random.seconds()))
            }
            let time = now + random.seconds()
            let decision = rules.decide(request, stored: stored, now: time)
            try #require(decision == rules.decide(request, stored: stored, now: time), comment)
            try check(decision, rules, request, stored, time, random.response(), comment)
        }
    }

    private func check(
        _ decision: CacheDecision, _ rules: CacheRules, _ request: CacheRequest, _ stored: [StoredResponse],
        _ time: Date,
        _ other: HTTPResponse, _ comment: Comment
    ) throws {
        for response in stored {
            let freshness = rules.freshness(of: response, at: time)
            try #require(freshness.lifetime >= 0 && freshness.age >= 0, comment)
            #expect(!rules.explain(response, for: request, now: time).description.isEmpty)
            _ = rules.mayServeStale(response, after: .status(503), for: request, now: time)
        }
        _ = rules.urlsInvalidated(by: other, to: request)
        _ = decision.cacheStatus().description
        if let served = decision.served {
            try #require(stored.indices.contains(served.candidate), comment)
            let response = stored[served.candidate]
            if !served.isStale, request.freshnessOverride == nil {
                try #require(rules.freshness(of: response, at: time).isFresh, comment)
                try #require(served.remainingLifetime > 0, comment)
            }
            let head = rules.head(of: served, from: response)
            try #require(head.headerFields[values: .age].count == 1, comment)
            if case .range(let range, let total) = served.body {
                try #require(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= total ?? .max, comment)
            }
        }
        if let validation = decision.validation {
            _ = rules.afterNotModified(
                other, validation: validation, stored: stored, request: request, requestTime: time, responseTime: time)
            _ = rules.afterHead(other, to: request, stored: stored, requestTime: time, responseTime: time)
        }
    }

    @Test func `random text as a URL: no trap, and a normalised URL stays as it is`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = Random(generator: SeededGenerator(seed: seed))
        for _ in 0..<Self.rounds {
            let text =
                (random.chance(3) ? "" : "http://") + String(decoding: random.text() + random.text(), as: UTF8.self)
            let once = HTTPURL.normalized(text)
            try #require(HTTPURL.normalized(once) == once, "seed \(seed): \(text)")
        }
    }

    @Test func `a hostile line of quotes, commas or names costs linear time`() {
        for piece in ["\"\\", "\"", ",", "a,", "a=\"", "max-age=1,", "\\\"", "*,", "\"a\","] {
            let line = String(repeating: piece, count: 20_000)
            var response = stored(("Cache-Control", line), ("Vary", line), ("ETag", line))
            response.fields[.connection] = line
            _ = privateRules.decide(get(("If-None-Match", line), ("Range", line)), stored: [response], now: now)
            _ = privateRules.storableFields(of: response.fields)
        }
    }
}
