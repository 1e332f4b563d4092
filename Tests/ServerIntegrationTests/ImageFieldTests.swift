import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// The fields of images' responses, and the fields of requests on which they depend, through real sockets.
@Suite(.fewAtATime) struct ImageFieldTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func origin() throws -> ScriptedOrigin {
        let bytes = try ImageEncoder.jpeg().encode(
            DecodedImage(width: 300, height: 200) { memory in
                for index in 0..<(300 * 200) { memory[index * 4 + 3] = 255 }
            })
        return try ScriptedOrigin { _ in
            [
                .head(
                    status: 200,
                    fields: [
                        ("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=600"),
                        ("Last-Modified", Self.date),
                    ]), .body(bytes),
            ]
        }
    }

    @Test func `every response with an image has a file name and a link to the original`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for _ in 0..<2 {
            let image = try #require(client.get("/image/w=50,f=webp/x/photo.jpg?v=1"))
            #expect(image["Content-Disposition"] == "inline; filename=\"photo.webp\"", "\(image.fields)")
            #expect(image["Link"] == "</x/photo.jpg?v=1>; rel=\"canonical\"")
            #expect(image["Content-DPR"] == nil && image["Accept-CH"] == nil && image["Vary"] == nil)
        }
        #expect(try #require(client.get("/image/w=50,dpr=2/a.jpg"))["Content-DPR"] == "2")
        #expect(try #require(client.get("/image/w=200,dpr=3/a.jpg"))["Content-DPR"] == "1.5")
        #expect(try #require(client.get("/image/w=400,dpr=3/a.jpg"))["Content-DPR"] == "1")
    }

    @Test func `a failed precondition is a 412, from memory and otherwise`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        var path = "/image/w=50,f=png/a.jpg"
        let whole = try #require(client.get(path))
        let tag = try #require(whole["ETag"])
        let table: [(fields: [String], status: Int)] = [
            (["If-Match: \(tag)"], 200), (["If-Match: \"x\", \(tag)"], 200), (["If-Match: *"], 200),
            (["If-Match: \"x\""], 412), (["If-Match: W/\(tag)"], 412),
            (["If-Unmodified-Since: \(Self.date)"], 200),
            (["If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT"], 412), (["If-Unmodified-Since: yesterday"], 200),
            (["If-Match: \(tag)", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT"], 200),
            (["If-Match: \(tag)", "If-None-Match: \(tag)"], 304), (["If-Match: \"x\"", "If-None-Match: \(tag)"], 412),
            (["If-Match: \"x\"", "Range: bytes=0-1"], 412), (["If-Match: \(tag)", "Range: bytes=0-1"], 206),
        ]
        for (fields, status) in table {
            let answer = try #require(
                client.ask("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n"))
            #expect(answer.status == status, "\(fields): \(answer.status)")
            if status == 412 { #expect(answer.text.contains("precondition") && answer["ETag"] == tag) }
        }
        path = "/image/w=51,f=png/a.jpg"
        #expect(try #require(client.get(path, "If-Match: \"x\"")).status == 412)
    }

    @Test func `client hints select the image if enabled, and Vary and Accept-CH name them`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--client-hints")
        let client = try Client(server.port)
        func width(_ path: String, _ fields: String...) throws -> (width: Int, response: Client.Response) {
            let response = try #require(
                client.ask("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n"))
            return (try ImageInfo.read(ImageSource(response.body)).width, response)
        }
        for _ in 0..<2 {
            let plain = try width("/image/w=50,f=png/a.jpg")
            let sharp = try width("/image/w=50,f=png/a.jpg", "Sec-CH-DPR: 2")
            #expect(plain.width == 50 && sharp.width == 100)
            #expect(sharp.response["Content-DPR"] == "2" && plain.response["Content-DPR"] == "1")
            for response in [plain.response, sharp.response] {
                #expect(response["Vary"] == "Sec-CH-DPR, Save-Data", "\(response.fields)")
                #expect(response["Accept-CH"] == "Sec-CH-DPR, Sec-CH-Width")
            }
            let auto = try width("/image/w=auto/a.jpg", "Sec-CH-Width: 60")
            #expect(auto.width == 64 && auto.response["Vary"] == "Accept, Sec-CH-DPR, Sec-CH-Width, Save-Data")
        }
        let saving = try width("/image/w=50,f=jpeg/a.jpg", "Sec-CH-DPR: 3", "Save-Data: on")
        #expect(saving.width == 50)
        let none = try await ServerProcess(origin: origin.url(""))
        let ignored = try #require(Client(none.port).get("/image/w=50,f=png/a.jpg", "Sec-CH-DPR: 2"))
        #expect(try ImageInfo.read(ImageSource(ignored.body)).width == 50 && ignored["Accept-CH"] == nil)
        #expect(try #require(Client(none.port).get("/image/w=auto/a.jpg")).status == 400)
    }
}
