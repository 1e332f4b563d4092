import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes

/// A request, stored responses and an answer, read from a fuzzer's input: three bytes of choices and times, then messages of
/// `Name: value` lines, separated by empty lines.
struct Scenario {
    private var choices: [UInt8]
    private var messages: [HTTPFields]
    private var text: String

    init(_ input: UnsafeBufferPointer<UInt8>) {
        choices = Array(input.prefix(8))
        while choices.count < 8 { choices.append(0) }
        text = String(decoding: input.dropFirst(8), as: UTF8.self)
        messages = [HTTPFields()]
        for line in input.dropFirst(8).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty {
                if messages.count < 5 { messages.append(HTTPFields()) }
                continue
            }
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)),
                messages[messages.count - 1].count < 200
            else { continue }
            messages[messages.count - 1].append(HTTPField(name: name, lenientValue: line[colon...].dropFirst()))
        }
    }

    private func time(_ index: Int) -> Date {
        // Around now, some of them absurd.
        let byte = Double(Int8(bitPattern: choices[index]))
        if choices[index] == 0x7F { return Date(timeIntervalSince1970: .infinity) }
        if choices[index] == 0x80 { return Date(timeIntervalSince1970: .nan) }
        return Date(timeIntervalSince1970: 1_767_225_600 + byte * abs(byte) * 10)
    }

    private var request: CacheRequest {
        let policies: [CachePolicy] = [
            .useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
            .returnCacheDataElseLoad,
            .returnCacheDataDontLoad, .reloadRevalidatingCacheData, .maxStale(seconds: nil),
            .maxStale(seconds: Int(choices[1])),
        ]
        let methods: [HTTPRequest.Method] = [.get, .get, .head, .post, .put, .query, .options, .delete]
        return CacheRequest(
            method: methods[Int(choices[0] & 7)], url: "https://example.org/a", fields: messages[0],
            policy: choices[0] & 8 == 0 ? .useProtocolCachePolicy : policies[Int(choices[0] >> 4 & 7)],
            freshnessOverride: choices[1] & 1 == 0 ? nil : FreshnessOverride(seconds: Int(choices[1]) - 50),
            isSafeQuery: choices[1] & 2 != 0)
    }

    func run() {
        let rules = CacheRules(
            mode: choices[2] & 1 == 0 ? .private : .shared, treatsServerErrorAsUnreachable: choices[2] & 2 != 0)
        let request = request
        let now = time(3)
        var stored: [StoredResponse] = []
        var answers: [HTTPResponse] = []
        for (index, fields) in messages.dropFirst().enumerated() {
            let codes = [200, 206, 304, 301, 302, 404, 500, 103, 200, 200, 416, 999, 0, 204, 503, 203]
            let response = HTTPResponse(status: .init(code: codes[Int(choices[4 + index] & 15)]), headerFields: fields)
            answers.append(response)
            let storability = rules.storability(of: response, to: request, receivedAt: now)
            precondition(
                storability == rules.storability(of: response, to: request, receivedAt: now), "the same, twice")
            if case .store(let terms) = storability {
                precondition(terms.lifetime >= 0, "negative lifetime")
                let flags = ResponseDirectives(fields).flags
                precondition(
                    !flags.contains(.noStore) || flags.contains(.mustUnderstand) || rules.mode == .shared,
                    "no-store was stored")
            }
            stored.append(
                rules.stored(
                    response, to: request,
                    redirects: choices[2] & 4 == 0 ? [] : [StoredHead(status: .found, fields: messages[0])],
                    requestTime: time(4 + index), responseTime: time(4 + index)))
        }
        let decision = rules.decide(request, stored: stored, now: now)
        precondition(decision == rules.decide(request, stored: stored, now: now), "the same input, the same decision")
        check(decision, rules, request, stored, answers, now)
        parsers(now)
    }

    private func check(
        _ decision: CacheDecision, _ rules: CacheRules, _ request: CacheRequest, _ stored: [StoredResponse],
        _ answers: [HTTPResponse],
        _ now: Date
    ) {
        for response in stored {
            let freshness = rules.freshness(of: response, at: now)
            precondition(freshness.lifetime >= 0 && freshness.age >= 0, "negative freshness")
            _ = rules.explain(response, for: request, now: now).description
            _ = rules.variantKey(of: request.fields, for: response.fields, redirects: response.redirects)
            for answer in answers {
                _ = rules.mayServeStale(response, after: .status(answer.status), for: request, now: now)
                _ = rules.freshened(response, by: answer.headerFields, requestTime: now, responseTime: now)
            }
        }
        _ = decision.cacheStatus().description
        switch decision {
        case .serve(let served), .serveAndRevalidate(let served, _):
            let response = stored[served.candidate]
            precondition(
                served.isStale || request.freshnessOverride != nil || rules.freshness(of: response, at: now).isFresh,
                "stale taken for fresh")
            precondition(rules.head(of: served, from: response).headerFields[values: .age].count == 1, "one Age")
            if case .range(let range, let total) = served.body {
                precondition(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= total ?? .max, "range")
            }
        case .validate(let validation):
            for answer in answers {
                _ = rules.afterNotModified(
                    answer, validation: validation, stored: stored, request: request, requestTime: now,
                    responseTime: now)
            }
        case .forward, .fail: break
        }
        for answer in answers {
            _ = rules.afterHead(answer, to: request, stored: stored, requestTime: now, responseTime: now)
            _ = rules.urlsInvalidated(by: answer, to: request)
        }
    }

    private func parsers(_ now: Date) {
        if let date = HTTPDate.parse(text, now: now) {
            precondition(
                HTTPDate.parse(HTTPDate.format(date), now: now) == date, "a date that is read is written the same")
        }
        if let tag = EntityTag(text) {
            precondition(EntityTag(tag.text) == tag, "a tag that is read is written the same")
        }
        let normalized = CacheRules().keyURL(of: text)
        precondition(CacheRules().keyURL(of: normalized) == normalized, "a normalised URL stays as it is")
    }
}
