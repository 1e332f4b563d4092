import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// Animated originals of the image endpoint.
@Suite(.fewAtATime) struct AnimationTests {
    private func origin() throws -> ScriptedOrigin {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../TestAssets/gif/Pillow__dispose_prev.gif")
        let bytes = [UInt8](try Data(contentsOf: file))
        return try ScriptedOrigin { _ in
            [
                .head(
                    status: 200,
                    fields: [
                        ("ETag", "\"1\""), ("Cache-Control", "public, max-age=600"),
                        ("Content-Length", "\(bytes.count)"),
                        ("Date", httpDate(Date())),
                    ]), .body(bytes),
            ]
        }
    }

    private func info(_ answer: Client.Response) throws -> ImageInfo { try ImageInfo.read(ImageSource(answer.body)) }

    @Test func `an animation stays animated, as GIF if WebP is not accepted, unless a still is requested`() async throws
    {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let webP = "Accept: image/avif,image/webp,*/*;q=0.8"
        let table: [(String, String, ImageFormat, Int)] = [
            ("w=50", webP, .webp, 5), ("w=50,f=png", "Accept: */*", .png, 1), ("w=50,f=webp", "Accept: */*", .webp, 5),
            ("w=50,f=webp,anim=0", webP, .webp, 1), ("w=50,frame=0", webP, .webp, 1), ("w=50,f=jpeg", webP, .jpeg, 1),
            ("w=50,h=40,fit=cover,blur=2,f=webp", webP, .webp, 5), ("w=50,f=avif", webP, .avif, 1),
            ("w=50,radius=5,f=webp", webP, .webp, 5), ("w=50,f=gif", "Accept: */*", .gif, 5),
            ("w=50,f=gif,anim=0", webP, .gif, 1), ("w=50,f=gif,frame=3", webP, .gif, 1),
            // For clients that take no WebP.
            ("w=50", "Accept: image/png,*/*;q=0.8", .gif, 5), ("w=50", "Accept: image/avif,*/*;q=0.8", .gif, 5),
            ("w=50,anim=0", "Accept: */*", .jpeg, 1),
        ]
        for (options, accept, format, frames) in table {
            let answer = try #require(client.get("/image/\(options)/a.gif", accept))
            #expect(answer.status == 200, "\(options): \(answer.text)")
            let info = try info(answer)
            #expect(info.format == format && info.frames == frames && info.width == 50, "\(options)")
            // Kept like any other image.
            let again = try #require(client.get("/image/\(options)/a.gif", accept))
            #expect(again.body == answer.body && again["Cache-Status"] == "imgcache; hit; detail=memory")
        }
    }

    @Test func `an animation has the same bytes with and without decoders in worker processes`() async throws {
        let origin = try origin()
        let isolated = try await ServerProcess(origin: origin.url(""), "--isolate-decoders", "on")
        let plain = try await ServerProcess(origin: origin.url(""), "--isolate-decoders", "off")
        for options in ["w=50", "w=50,f=gif", "f=gif", "w=40,h=40,fit=cover,radius=9,f=gif", "w=50,anim=0,f=gif"] {
            let one = try #require(try Client(isolated.port).get("/image/\(options)/a.gif", "Accept: */*"))
            let other = try #require(try Client(plain.port).get("/image/\(options)/a.gif", "Accept: */*"))
            #expect(one.status == 200 && one.body == other.body, "\(options): \(one.text)")
            #expect(one["Content-Type"] == "image/gif", "\(options)")
            #expect(one["Content-Disposition"] == "inline; filename=\"a.gif\"", "\(options)")
        }
    }

    @Test(arguments: [("--max-frames", "4"), ("--max-animation-pixels", "49999"), ("--max-animation-duration", "4s")])
    func `an animation beyond a limit is refused, but a still of it is made`(_ setting: String, _ value: String)
        async throws
    {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), setting, value)
        let client = try Client(server.port)
        let refused = try #require(client.get("/image/w=50,f=webp/a.gif"))
        #expect(refused.status == 422 && refused.text.contains("image-too-large"), "\(refused.text)")
        let still = try #require(client.get("/image/w=50,f=webp,anim=0/a.gif"))
        #expect(still.status == 200, "\(still.text)")
        #expect(try info(still).frames == 1)
    }
}
