import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// `format=thumbhash` and the like, and `/image/info/PATH`, through real sockets.
@Suite(.fewAtATime) struct PlaceholderServiceTests {
    /// Lossless, so that the test can compute the expected values.
    private func picture() throws -> DecodedImage {
        try DecodedImage(width: 90, height: 60) { memory in
            for index in 0..<(90 * 60) {
                memory[index * 4] = UInt8(index % 90 * 2)
                memory[index * 4 + 1] = UInt8(index / 90 * 4)
                memory[index * 4 + 3] = 255
            }
        }
    }

    private func origin() throws -> ScriptedOrigin {
        let bytes = try ImageEncoder.png().encode(picture())
        return try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=600")]),
                .body(bytes),
            ]
        }
    }

    @Test func `a placeholder is a text, or JSON for those who ask for it`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let image = try picture()
        for (format, expected) in [
            ("thumbhash", Data(try image.thumbHash).base64EncodedString()), ("blurhash", try image.blurHash),
        ] {
            let text = try #require(client.get("/image/format=\(format)/a.png"))
            #expect(text.status == 200 && text.text == expected, "\(text.text)")
            #expect(text["Content-Type"] == "text/plain; charset=utf-8" && text["Vary"] == "Accept")
            let json = try #require(client.get("/image/format=\(format)/a.png", "Accept: application/json"))
            #expect(json.text == "{\"\(format)\":\"\(expected)\"}" && json["Content-Type"] == "application/json")
            #expect(json["ETag"] != text["ETag"])
            let again = try #require(client.get("/image/format=\(format)/a.png", "Accept: */*"))
            #expect(again.text == expected && again["Cache-Status"] == "imgcache; hit; detail=memory")
        }
        let color = try #require(client.get("/image/f=color,w=10/a.png"))
        #expect(color.text.wholeMatch(of: /#[0-9a-f]{6}/) != nil, "\(color.text)")
        #expect(origin.requests.count == 1)
    }

    @Test func `the description of an image is kept, in memory and on disk`() async throws {
        let origin = try origin()
        let store = try TestDirectory()
        var former: Client.Response?
        for round in 0..<2 {
            let server = try await ServerProcess(
                origin: origin.url(""), "--cache-dir", store.path("cache"), "--widths", "5", "--only-presets")
            for turn in 0..<2 {
                let info = try #require(Client(server.port).get("/image/info/a.png"))
                #expect(info.status == 200 && info["Content-Type"] == "application/json", "\(info.text)")
                if round + turn > 0 { #expect(info["Cache-Status"]?.hasPrefix("imgcache; hit") == true) }
                if let former { #expect(info.body == former.body && info["ETag"] == former["ETag"]) }
                former = info
            }
            server.process.send(signal: SIGTERM)
            _ = await server.process.end()
        }
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(former?.body ?? [])) as? [String: Any])
        #expect(json["width"] as? Int == 90 && json["height"] as? Int == 60 && json["format"] as? String == "PNG")
        #expect(json["alpha"] as? Bool == false && json["frames"] as? Int == 1 && json["orientation"] as? Int == 1)
        #expect(try json["thumbhash"] as? String == Data(picture().thumbHash).base64EncodedString())
        #expect(try json["blurhash"] as? String == picture().blurHash)
        #expect(json["color_space"] as? String == "sRGB" && (json["dominant_color"] as? String)?.count == 7)
        #expect(origin.requests.count == 1)
    }
}
