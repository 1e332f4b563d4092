import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Testing

@testable import ImageCache

@Suite("The record of a response")
struct ResponseRecordTests {
    private var record: ResponseRecord {
        let response = StoredResponse(
            requestMethod: .get, requestURL: "https://example.com/a", finalURL: "https://example.com/b",
            requestFields: [.acceptLanguage: "de"],
            redirects: [StoredHead(status: .found, fields: [.location: "/b"])], status: .ok,
            fields: [.eTag: "\"1\"", .contentType: "image/jpeg", .vary: "Accept-Language"],
            requestTime: Date(timeIntervalSince1970: 1_700_000_000.25),
            responseTime: Date(timeIntervalSince1970: 1_700_000_001.5), ownVersion: "7", isInvalidated: true)
        return ResponseRecord(url: "https://example.com/a", response: response)
    }

    @Test func `a response record is decoded as it was encoded`() throws {
        let decoded = try #require(ResponseRecord(decoding: record.encoded))
        #expect(decoded == record)
    }

    @Test func `a response record keeps values that are not text byte by byte`() throws {
        let value: [UInt8] = [0xFF, 0xE9, 0x61, 0xC3]
        var record = record
        record.response.fields.append(HTTPField(name: .server, lenientValue: value))
        let decoded = try #require(ResponseRecord(decoding: record.encoded))
        let field = try #require(decoded.response.fields.first { $0.name == .server })
        #expect(field.withUnsafeBytesOfValue { Array($0) } == value)
    }

    @Test func `a response record that is cut anywhere is rejected without a trap`() {
        let bytes = record.encoded
        for count in 0..<bytes.count { #expect(ResponseRecord(decoding: Array(bytes[..<count])) == nil) }
        #expect(ResponseRecord(decoding: bytes + [1]) == nil)
    }

    @Test func `a response record survives a change of any byte without a trap`() {
        var generator = SystemRandomNumberGenerator()
        let bytes = record.encoded
        for index in bytes.indices {
            var changed = bytes
            changed[index] = UInt8.random(in: 0...255, using: &generator)
            _ = ResponseRecord(decoding: changed)
        }
    }
}
