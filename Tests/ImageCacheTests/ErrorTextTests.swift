import Foundation
import HTTPSemantics
import ImageCache
import ImageCodec
import MemoryCache
import Testing
import Transfer

@Suite struct ErrorTextTests {
    private typealias Code = ImageCacheError.Code

    @Test func `a code prints its name, with its status or reason`() {
        let codes: [(Code, String)] = [
            (.invalidRequest, "invalidRequest"), (.unreachable, "unreachable"), (.addressRefused, "addressRefused"),
            (.status(404), "status(404)"), (.wrongBytes, "wrongBytes"), (.store(.tooLarge), "store(tooLarge)"),
            (.notStorable, "notStorable"), (.notCached, "notCached"), (.cancelled, "cancelled"),
            (.digestUnavailable, "digestUnavailable"), (.undecodableValue, "undecodableValue"),
            (.undecodable(.truncated), "undecodable(truncated)"),
        ]
        for (code, name) in codes { #expect("\(code)" == name) }
        #expect(Set(codes.map(\.0)).count == codes.count)
        #expect(
            "\(TransferError.Code.addressRefused) \(ImageCodecError.Code.limitExceeded)"
                == "addressRefused limitExceeded")
    }

    private static var errors: [any Error] {
        get throws {
            let url = #expect(throws: InvalidURL.self) { try HTTPURL("ftp://a/") }
            return [
                ImageCacheError(.status(404), url: "http://a/", message: "the server answered 404 Not Found"),
                ImageCodecError(.corrupt, format: .png, offset: 12, "no header"),
                TransferError(.connect, url: "http://a/", "no connection"),
                TextDecodingError(charset: "big5"), MemoryCacheLimitError.negative(-1), try #require(url),
            ]
        }
    }

    @Test func `every public error has its description as its localized description`() throws {
        for error in try Self.errors {
            #expect(error.localizedDescription == "\(error)")
            #expect((error as? any LocalizedError)?.errorDescription == "\(error)")
        }
        let error = ImageCacheError(.status(404), url: "http://a/", message: "the server answered 404 Not Found")
        #expect(error.localizedDescription == "http://a/: the server answered 404 Not Found")
    }
}
