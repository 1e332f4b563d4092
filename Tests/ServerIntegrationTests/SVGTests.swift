import Foundation
import TestSupport
import Testing

/// Originals that are SVGs, through real sockets.
@Suite(.fewAtATime) struct SVGTests {
    private static let svg = Array(
        "<?xml version=\"1.0\"?><!-- <html> -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"><script>1</script></svg>"
            .utf8)

    private static func body(_ path: String) -> [UInt8] {
        switch path {
        case "/page.svg": Array("<html><svg xmlns='http://www.w3.org/2000/svg'/></html>".utf8)
        case "/a.svgz": [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + Array("<svg/>".utf8)
        case "/large.svg": svg + Array(repeating: UInt8(ascii: " "), count: 1 << 20)
        default: svg
        }
    }

    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            let bytes = Self.body(request.path)
            return [
                .head(
                    status: 200,
                    fields: [
                        ("Content-Length", "\(bytes.count)"), ("Cache-Control", "max-age=600"),
                        ("Content-Type", "text/html"),
                    ]), .body(bytes),
            ]
        }
    }

    @Test func `an SVG is refused with a message that names the format`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""))
        for path in ["/image/w=50/a.svg", "/image/f=auto/a.svg"] {
            let response = try #require(try Client(server.port).get(path))
            #expect(response.status == 415 && response.text.contains("The original is SVG, which is not supported"))
        }
    }

    @Test func `a refused conversion of an SVG does not affect requests for the original`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--svg", "pass", "--negative-ttl", "5m")
        let client = try Client(server.port)
        for other in ["info", "w=50", "f=auto,frame=0", "f=webp"] {
            #expect(try #require(client.get("/image/\(other)/a.svg")).status == 415, "\(other)")
            for accept in ["*/*", "image/webp", "image/avif,image/webp"] {
                let response = try #require(client.get("/image/f=auto/a.svg", "Accept: \(accept)"))
                #expect(response.status == 200 && response.body == Self.svg, "\(other), \(accept): \(response.text)")
            }
        }
    }

    @Test func `--svg pass sends an SVG unchanged and sandboxed, and fetches it once`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--svg", "pass")
        let client = try Client(server.port)
        var tag = ""
        for _ in 0..<2 {
            let response = try #require(client.get("/image/f=auto/icons/a.svg"))
            #expect(response.status == 200 && response.body == Self.svg)
            #expect(response["Content-Type"] == "image/svg+xml")
            #expect(response["Content-Security-Policy"] == "sandbox")
            #expect(response["X-Content-Type-Options"] == "nosniff")
            #expect(response["Content-Disposition"] == "inline; filename=\"a.svg\"")
            #expect(response["Cache-Control"]?.hasPrefix("max-age=") == true && response["Vary"] == "Accept")
            tag = try #require(response["ETag"])
        }
        let same = try #require(client.get("/image/f=auto/icons/a.svg", "If-None-Match: \(tag)"))
        #expect(same.status == 304 && same.body.isEmpty)
        let part = try #require(client.get("/image/f=auto/icons/a.svg", "Range: bytes=0-4"))
        #expect(part.status == 206 && part.text == "<?xml" && part["Content-Security-Policy"] == "sandbox")
        #expect(origin.requests.count == 1)
    }

    @Test(arguments: ["w=50", "f=png", "w=50,h=50,blur=2", "frame=1", "radius=3", "w=50,f=webp"])
    func `--svg pass refuses a size, an effect or a format, but sends the original`(options: String) async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--svg", "pass")
        let client = try Client(server.port)
        for _ in 0..<2 {
            let response = try #require(client.get("/image/\(options)/a.svg"))
            #expect(response.status == 415 && response.text.contains("\"svg-unchanged\""), "\(response.text)")
        }
        let response = try #require(client.get("/image/q=80/a.svg"))
        #expect(response.status == 200 && response.body == Self.svg)
    }

    @Test func `--svg pass refuses a file that is large or not plain SVG`() async throws {
        let origin = try origin()
        let server = try await ServerProcess(origin: origin.url(""), "--svg", "pass")
        let client = try Client(server.port)
        for path in ["/page.svg", "/a.svgz"] {
            let response = try #require(client.get("/image/f=auto\(path)"))
            #expect(response.status == 415 && response.text.contains("\"not-an-image\""), "\(response.text)")
        }
        #expect(try #require(client.get("/image/f=auto/large.svg")).status == 422)
    }
}
