import HTTPCaching
import HTTPTypes
import Testing

/// A validator means something at its resource only (RFC 9110 section 8.8.3): what a 304, a 206 or a HEAD of another one says of
/// an equal one is about that.
struct ResourceTests {
    private let there = "https://example.org/1.0"
    private let moved = "https://example.org/1.1"

    private func stored(_ finalURL: String, tag: String = "\"a\"", length: Int64 = 1000) -> StoredResponse {
        var response = HTTPCachingTests.stored(("ETag", tag), ("Cache-Control", "max-age=0"), ago: 10)
        response.finalURL = finalURL
        response.extent = .complete(length: length)
        return response
    }

    private func confirmed(_ stored: [StoredResponse], by finalURL: String?, tag: String? = "\"a\"") throws
        -> NotModifiedOutcome
    {
        let validation = try #require(privateRules.decide(get(), stored: stored, now: now).validation)
        let head = tag.map { response(304, ("ETag", $0)) } ?? response(304)
        return privateRules.afterNotModified(
            head, validation: validation, stored: stored, request: get(), finalURL: finalURL, requestTime: now,
            responseTime: now)
    }

    @Test(arguments: ["\"a\"", nil] as [String?])
    func `a 304 from another resource confirms nothing`(tag: String?) throws {
        #expect(try confirmed([stored(there)], by: moved, tag: tag) == .repeatUnconditionally)
        #expect(try confirmed([stored(there)], by: nil, tag: tag) == .repeatUnconditionally)
        #expect(try confirmed([stored(url)], by: moved, tag: tag) == .repeatUnconditionally)
    }

    @Test(arguments: ["\"a\"", nil] as [String?])
    func `a 304 from the same resource confirms it, whatever its signature, which is then the newer one`(
        tag: String?
    ) throws {
        let signed = there + "?Expires=1&Signature=a&Key-Pair-Id=k"
        let again = there + "?Expires=2&Signature=b&Key-Pair-Id=k"
        guard case .refreshed(let refreshed) = try confirmed([stored(signed)], by: again, tag: tag) else {
            Issue.record("not confirmed")
            return
        }
        #expect(refreshed.map(\.response.finalURL) == [again])
    }

    @Test func `a redirect that varies: only the tags of the chosen response's resource are asked about`() throws {
        let validation = try #require(
            privateRules.decide(get(), stored: [stored(there), stored(moved, tag: "\"b\"")], now: now).validation)
        #expect(validation.fields[.ifNoneMatch] == "\"a\"")
        #expect(validation.candidates == [0])
        let both = try #require(
            privateRules.decide(get(), stored: [stored(there), stored(there, tag: "\"b\"")], now: now).validation)
        #expect(both.fields[.ifNoneMatch] == "\"a\", \"b\"")
    }

    @Test func `a HEAD of another resource makes the stored response one to be confirmed`() {
        func updated(_ finalURL: String?) -> [RefreshedResponse] {
            privateRules.afterHead(
                response(200, ("ETag", "\"a\""), ("Content-Length", "1000")), to: get(method: .head),
                stored: [stored(there)], finalURL: finalURL, requestTime: now, responseTime: now)
        }
        #expect(updated(there).map(\.response.isInvalidated) == [false])
        #expect(updated(moved).map(\.response.isInvalidated) == [true])
        #expect(updated(nil).map(\.response.isInvalidated) == [true])
    }
}
