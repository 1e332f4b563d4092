import FoundationEssentials
import HTTPServer
import HTTPTypes
import ImageCache
import Testing

@testable import ImageProxy

@Suite("Failures that are remembered")
struct NegativeResponsesTests {
    private let rules = ImageRules(origin: "https://a.example")
    private let begin = Date(timeIntervalSince1970: 1_000_000)

    private func operation(
        _ options: String = "w=9", _ path: String = "x.jpg", accept: String = "*/*"
    ) throws -> ImageOperation {
        try rules.operation(target: "/image/\(options)/\(path)", accept: [accept], now: 0)
    }

    private func failure(_ code: ImageCacheError.Code) -> Response {
        Response(imageFailure: ImageCacheError(code, url: "https://a.example/x.jpg", message: ""))
    }

    private func seconds(
        _ responses: NegativeResponses<Int>, _ operation: ImageOperation, after time: Double,
        isCurrent: (Int) -> Bool = { _ in true }
    ) -> Int? {
        responses.known(for: operation, rules, at: begin.addingTimeInterval(time), isCurrent: isCurrent)?.seconds
    }

    @Test func `a failure is remembered for its time and for all images of the original`() throws {
        let responses = NegativeResponses<Int>()
        responses.note(failure(.status(404)), of: try operation(), rules, 1, at: begin)
        #expect(seconds(responses, try operation(), after: 0) == 10)
        #expect(seconds(responses, try operation("w=10,f=png"), after: 9.5) == 1)
        #expect(seconds(responses, try operation("w=9", "y.jpg"), after: 1) == nil)
        #expect(seconds(responses, try operation(), after: 10) == nil)
        responses.note(failure(.status(410)), of: try operation(), rules, 1, at: begin)
        #expect(seconds(responses, try operation(), after: -1) == nil)
    }

    @Test func `a remembered failure ends when the state of the original or the rules change`() throws {
        let responses = NegativeResponses<Int>()
        responses.note(failure(.undecodable(.corrupt)), of: try operation(), rules, 7, at: begin)
        #expect(seconds(responses, try operation(), after: 1) { $0 == 7 } == 9)
        #expect(seconds(responses, try operation(), after: 1) { $0 == 8 } == nil)
        #expect(responses.count == 0)
        responses.note(failure(.undecodable(.corrupt)), of: try operation(), rules, 7, at: begin)
        let others = ImageRules(origin: "https://a.example")
        #expect(responses.known(for: try operation(), others, at: begin) { _ in true } == nil)
    }

    @Test func `only lasting failures are remembered, for one image if its options matter`() throws {
        for (code, isKept) in [
            (ImageCacheError.Code.status(404), true), (.undecodable(.unsupportedFormat), true),
            (.undecodable(.truncated), true), (.store(.tooLarge), true), (.status(500), false), (.status(403), false),
            (.unreachable, false), (.undecodable(.outOfMemory), false), (.undecodable(.unavailable), false),
            (.cancelled, false),
        ] {
            let responses = NegativeResponses<Int>()
            let kept = responses.note(failure(code), of: try operation(), rules, 1, at: begin)
            #expect(kept == (isKept ? 10 : 0), "\(code)")
            #expect((seconds(responses, try operation(), after: 1) != nil) == isKept, "\(code)")
        }
    }

    @Test(arguments: [ImageCodecError.Code.limitExceeded, .corrupt, .truncated, .crashed, .invalidArgument])
    func `an animation's failure does not apply without animation`(
        code: ImageCodecError.Code
    ) throws {
        let responses = NegativeResponses<Int>()
        responses.note(failure(.undecodable(code)), of: try operation(), rules, 1, at: begin)
        #expect(seconds(responses, try operation(), after: 1) == 9)
        #expect(seconds(responses, try operation("w=9,anim=0"), after: 1) == nil)
    }

    /// Requests of which no two have the same result.
    private func operations() throws -> [ImageOperation] {
        var operations = try ["image/webp", "image/avif, image/webp", "*/*"].map {
            try operation("f=auto", accept: $0)
        }
        operations += try ["info", "w=9", "w=9,frame=1", "w=9,anim=0", "f=jpeg", "q=70"].map { try operation($0) }
        operations += try ["text/plain", "application/json"].map { try operation("f=thumbhash", accept: $0) }
        var hinted = rules
        hinted.usesClientHints = true
        hinted.presets = try ImagePresets([], takesHints: true)
        for ratio in ["2", "3"] {
            operations.append(
                try hinted.operation(
                    target: "/image/w=9/x.jpg", accept: ["*/*"],
                    hints: ClientHints([try #require(HTTPField.Name("Sec-CH-DPR")): ratio]), now: 0))
        }
        return operations
    }

    @Test func `a failure of one result does not apply to another format, description, frame or hint`() throws {
        let operations = try operations()
        for (index, failing) in operations.enumerated() {
            let responses = NegativeResponses<Int>()
            responses.note(failure(.undecodable(.limitExceeded)), of: failing, rules, 1, at: begin)
            for (other, operation) in operations.enumerated() {
                #expect((seconds(responses, operation, after: 1) != nil) == (other == index), "\(index), \(other)")
            }
        }
    }

    @Test func `a failure of an original is marked as such until the image is known to be unstored`() throws {
        let responses = NegativeResponses<Int>()
        responses.note(failure(.status(404)), of: try operation(), rules, 1, at: begin)
        func isOfOriginal(_ options: String) throws -> Bool? {
            responses.known(for: try operation(options), rules, at: begin) { _ in true }?.isOfOriginal
        }
        #expect(try isOfOriginal("w=9") == true && isOfOriginal("w=10") == true)
        responses.noteNothingStored(of: try operation("w=10"), at: begin)
        #expect(try isOfOriginal("w=9") == true && isOfOriginal("w=10") == false)
        #expect(seconds(responses, try operation("w=10"), after: 9.5) == 1)
        #expect(seconds(responses, try operation("w=10"), after: 10) == nil)
    }

    @Test func `remembered failures are limited in number, and the oldest are dropped first`() throws {
        let responses = NegativeResponses<Int>()
        let limit = NegativeResponses<Int>.limit
        for number in 0...limit * 2 {
            let operation = try operation("w=9", "\(number).jpg")
            responses.note(failure(.status(404)), of: operation, rules, 1, at: begin)
            #expect(responses.count <= limit)
        }
        #expect(seconds(responses, try operation("w=9", "\(limit * 2).jpg"), after: 1) == 9)
        #expect(seconds(responses, try operation("w=9", "0.jpg"), after: 1) == nil)
    }

    @Test func `no failure is remembered if the lifetime is zero`() throws {
        var rules = rules
        rules.negativeLifetime = 0
        let responses = NegativeResponses<Int>()
        responses.note(failure(.status(404)), of: try operation(), rules, 1, at: begin)
        #expect(responses.count == 0)
    }
}
