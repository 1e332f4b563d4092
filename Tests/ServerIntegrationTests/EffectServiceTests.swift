import ConcurrencyPrimitives
import Foundation
import ImageCache
import ImageCodec
import TestSupport
import Testing

/// Trimmed, marked and rounded images through real sockets.
@Suite(.fewAtATime) struct EffectServiceTests {
    /// Blue with a white border of 20 pixels; its right half is green.
    private func origin() throws -> ScriptedOrigin {
        let bytes = try ImageEncoder.png().encode(
            DecodedImage(width: 240, height: 140) { memory in
                for y in 0..<140 {
                    for x in 0..<240 {
                        let isInside = (20..<220).contains(x) && (20..<120).contains(y)
                        let color: [UInt8] = !isInside ? [255, 255, 255] : x < 120 ? [0, 0, 255] : [0, 255, 0]
                        for channel in 0..<3 { memory[(y * 240 + x) * 4 + channel] = color[channel] }
                        memory[(y * 240 + x) * 4 + 3] = 255
                    }
                }
            })
        return try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=600")]),
                .body(bytes),
            ]
        }
    }

    private func image(_ client: Client, _ path: String) throws -> DecodedImage {
        let answer = try #require(client.get(path))
        #expect(answer.status == 200, "\(path): \(answer.text)")
        return try ImageDecoder().decode(ImageSource(answer.body))
    }

    @Test func `the border is removed before the size is made, and a focal point is kept`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let trimmed = try image(client, "/image/w=100,trim=10,f=png/a.png")
        #expect((trimmed.width, trimmed.height) == (100, 50))
        #expect(trimmed[10, 25] == SIMD4(0, 0, 255, 255) && trimmed[90, 25] == SIMD4(0, 255, 0, 255))
        #expect(try image(client, "/image/trim=0,f=png/a.png").width == 200)
        let left = try image(client, "/image/w=40,h=140,fit=crop,fp=0.2,0.5,f=png/a.png")
        #expect(left[20, 70] == SIMD4(0, 0, 255, 255))
        let right = try image(client, "/image/w=40,h=140,fit=crop,fp=0.8,0.5,f=png/a.png")
        #expect(right[20, 70] == SIMD4(0, 255, 0, 255))
    }

    @Test func `an image is cropped, zoomed, turned, recoloured and padded`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        let (blue, green) = (SIMD4<UInt8>(0, 0, 255, 255), SIMD4<UInt8>(0, 255, 0, 255))
        let part = try image(client, "/image/crop=20x20x200x100,w=100,f=png/a.png")
        #expect((part.width, part.height) == (100, 50) && part[5, 5] == blue && part[95, 45] == green)
        let half = try image(client, "/image/crop=50x0x50x100p,f=png/a.png")
        #expect((half.width, half.height) == (120, 140) && half[50, 70] == green)
        let near = try image(client, "/image/w=60,zoom=4,fp=0.25,0.5,f=png/a.png")
        #expect(near.width == 60 && near[30, 17] == blue)
        let turned = try image(client, "/image/w=70,rotate=90,f=png/a.png")
        #expect((turned.width, turned.height) == (70, 120))
        #expect(turned[35, 20] == blue && turned[35, 100] == green)
        let mirrored = try image(client, "/image/w=120,flip=h,f=png/a.png")
        #expect(mirrored[20, 35] == green && mirrored[100, 35] == blue)
        let gray = try image(client, "/image/w=120,gray=1,f=png/a.png")[20, 35]
        #expect(gray.x == gray.y && gray.y == gray.z)
        #expect(try image(client, "/image/w=120,brightness=0.5,f=png/a.png")[100, 35] == SIMD4(0, 128, 0, 255))
        let padded = try image(client, "/image/w=120,padding=10,dpr=2,bg=ff0000,f=png/a.png")
        #expect((padded.width, padded.height) == (240 + 40, 140 + 40) && padded[5, 5] == SIMD4(255, 0, 0, 255))
        let clear = try image(client, "/image/w=120,padding=10,f=webp/a.png")
        #expect(clear.width == 140 && clear[2, 2].w == 0)
        let wrong = try #require(client.get("/image/w=9,rotate=45/a.png"))
        #expect(wrong.status == 400 && wrong.text.contains("0, 90, 180 or 270"))
    }

    /// The right half of the original is transparent.
    @Test(arguments: ["inside", "contain", "cover", "crop", "pad", "extend", "fill", "outside"])
    func `the background is under transparent pixels, whatever fit, proportions and format`(fit: String) async throws {
        let bytes = try ImageEncoder.png().encode(
            DecodedImage(width: 64, height: 64) { memory in
                for index in 0..<64 * 64 where index % 64 < 32 {
                    memory[index * 4 + 2] = 255
                    memory[index * 4 + 3] = 255
                }
            })
        let origin = try ScriptedOrigin { _ in
            [
                .head(status: 200, fields: [("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=600")]),
                .body(bytes),
            ]
        }
        let server = try await ServerProcess(origin: origin.url(""))
        let client = try Client(server.port)
        for box in ["w=32,h=32", "w=32,h=20", "w=64,h=64", "w=90,h=90", "w=90,h=80"] {
            for format in ["png", "webp", "gif", "jpeg"] {
                let result = try image(client, "/image/\(box),fit=\(fit),bg=ffffff,f=\(format)/a.png")
                #expect(result.isOpaque, "\(box), \(format)")
                let pixel = result[result.width * 5 / 8, result.height / 2]
                #expect((0..<4).allSatisfy { pixel[$0] > 200 }, "\(box), \(format): \(pixel)")
            }
            #expect(try !image(client, "/image/\(box),fit=\(fit),f=png/a.png").isOpaque)
        }
    }

    @Test func `rounded corners are transparent, and a watermark is at the requested position`() async throws {
        let origin = try origin()
        let files = try TestDirectory()
        let mark = try DecodedImage(width: 10, height: 10) { memory in
            for index in 0..<100 {
                memory[index * 4] = 255
                memory[index * 4 + 3] = 255
            }
        }
        try Data(ImageEncoder.png().encode(mark)).write(to: URL(fileURLWithPath: files.path("logo.png")))
        try files.write(#"{"watermarks": {"logo": "\#(files.path("logo.png"))"}}"#, to: "server.json")
        let server = try await ServerProcess(origin: origin.url(""), "--config", files.path("server.json"))
        let client = try Client(server.port)
        let round = try image(client, "/image/w=120,radius=20,f=png/a.png")
        #expect(round[0, 0].w == 0 && round[60, 35].w == 255)
        let marked = try image(client, "/image/w=240,wm=logo,wm-scale=10,wm-position=top-left,f=png/a.png")
        #expect(marked[5, 5] == SIMD4(255, 0, 0, 255) && marked[60, 60] == SIMD4(0, 0, 255, 255))
        let faint = try image(client, "/image/w=240,wm=logo,wm-opacity=50,wm-scale=10,f=png/a.png")
        #expect(faint[235, 135].x == 255 && (120...135).contains(faint[235, 135].y), "\(faint[235, 135])")
        let unknown = try #require(client.get("/image/w=9,wm=other/a.png"))
        #expect(unknown.status == 400 && unknown.text.contains("must be one of logo"), "\(unknown.text)")

        // Another file under the name makes another image.
        let green = try DecodedImage(width: 10, height: 10) { memory in
            for index in 0..<100 {
                memory[index * 4 + 1] = 128
                memory[index * 4 + 3] = 255
            }
        }
        try Data(ImageEncoder.png().encode(green)).write(to: URL(fileURLWithPath: files.path("logo.png")))
        server.process.send(signal: SIGHUP)
        #expect(await server.process.says("configuration reloaded"), "\(server.process.errorOutput)")
        let again = try image(client, "/image/w=240,wm=logo,wm-scale=10,wm-position=top-left,f=png/a.png")
        #expect(again[5, 5] == SIMD4(0, 128, 0, 255))
    }
}
