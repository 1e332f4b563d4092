import HTTPTypes
import Testing

@testable import HTTPServer

struct ResponseFramingTests {
    private func framing(
        _ lengths: [String], _ body: Response.Body, status: Int = 200, isWithoutContent: Bool = false, minor: Int = 1
    ) -> ResponseFraming {
        var response = Response(HTTPResponse(status: .init(code: status)))
        for length in lengths { response.head.headerFields.append(HTTPField(name: .contentLength, value: length)) }
        response.body = body
        return ResponseFraming(of: response, status: status, isWithoutContent: isWithoutContent, minorVersion: minor)
    }

    @Test(arguments: [["-5"], ["+5"], ["5", "6"], ["5, 6"], ["5x"], ["0x5"], [""], ["99999999999999999999"]])
    func `a malformed length is not sent on`(_ lengths: [String]) {
        #expect(framing(lengths, .none, isWithoutContent: true) == .none)
        #expect(framing(lengths, .none, status: 304, isWithoutContent: true) == .none)
        let stream = Response.Body.stream(length: nil) { _ in }
        #expect(framing(lengths, stream) == .chunked && framing(lengths, stream, minor: 0) == .untilClose)
        #expect(framing(lengths, stream, isWithoutContent: true) == .none)
    }

    @Test func `a well-formed length is that of a stream and of a response to HEAD`() {
        for lengths in [["5"], ["5", "5"], ["5, 5"], ["005"]] {
            #expect(framing(lengths, .none, isWithoutContent: true) == .length(5))
            #expect(framing(lengths, .stream(length: nil) { _ in }) == .length(5))
        }
        #expect(framing(["5"], .stream(length: 4) { _ in }) == .length(4))
        #expect(framing(["5"], .bytes([1])) == .length(1) && framing(["5"], .none) == .length(0))
        #expect(framing(["5"], .none, status: 204, isWithoutContent: true) == .none)
        #expect(framing([], .none, status: 103) == .none)
    }
}
