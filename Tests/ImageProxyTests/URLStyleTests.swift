import ImageCache
import TestSupport
import Testing
import URLSigning

@testable import ImageProxy

/// The image URLs of other services, as their documentation has them, and their meaning here.
@Suite("Image URLs of other services")
struct URLStyleTests {
    private func translated(_ style: URLStyle.Name, _ target: String) throws(ImageRequestError) -> String? {
        try URLStyle(style).translated(target, now: 1_000_000)?.target
    }

    // MARK: Any

    private static let thumborFilters = [
        "quality", "max_bytes", "format", "blur", "sharpen", "brightness", "contrast", "saturation", "rotate",
        "round_corner", "fill", "background_color", "focal", "page", "max_frames",
    ]
    private static let imgproxyOptions = [
        "rs", "s", "w", "h", "mw", "mh", "z", "dpr", "ext", "g", "c", "pd", "ar", "rot", "bg", "bl", "sh", "pix", "br",
        "co", "sa", "wm", "q", "mb", "f", "exp", "page", "t", "cb", "el",
    ]
    private static let cloudflareOptions = [
        "width", "height", "dpr", "quality", "blur", "sharpen", "brightness", "contrast", "gamma", "saturation",
        "rotate",
        "gravity", "border", "trim", "background", "zoom",
    ]

    /// Targets in which a number is put into every place.
    private func targets(_ style: URLStyle.Name, _ value: String) -> [String] {
        switch style {
        case .thumbor, .imagor:
            Self.thumborFilters.map { "/unsafe/filters:\($0)(\(value))/a.jpg" } + [
                "/unsafe/\(value)x\(value)/a.jpg", "/unsafe/0x0:\(value)x\(value)/a.jpg",
                "/unsafe/-\(value)x-1:1x\(value)/a.jpg", "/unsafe/filters:round_corner(\(value)|\(value),1,1,1)/a.jpg",
            ]
        case .imgproxy:
            Self.imgproxyOptions.flatMap { name in
                [value, "\(value):\(value)", "0:\(value):\(value):\(value)"].map { "/x/\(name):\($0)/plain/a.jpg" }
            }
        case .cloudflare: Self.cloudflareOptions.map { "/cdn-cgi/image/\($0)=\(value)/a.jpg" }
        // Their options depend on the original: see the tests of IIIF image URLs.
        case .iiif: []
        }
    }

    @Test(arguments: URLStyle.Name.allCases)
    func `a number out of range or a missing one is an error or a valid option`(_ style: URLStyle.Name) {
        for value in [
            "-9223372036854775808", "-9223372036854775800", "9223372036854775807", "99999999999999999999", "inf",
            "-inf",
            "nan", "1e300", "-1e300", "0x1p1000", "-0", "1e18", "999999999999999", "0.0000000000001", ".", "-", "",
        ] {
            for target in targets(style, value) {
                guard let ours = try? translated(style, target), let options = try? readable(ours) else { continue }
                #expect(!options.contains("inf") && !options.contains("nan") && !options.contains("e+"), "\(options)")
            }
        }
    }

    @Test func `numbers that the other service accepts become numbers that this one accepts`() throws {
        for percent in -100...100 {
            for filter in ["brightness", "contrast"] {
                try readable(
                    try #require(try translated(.thumbor, "/unsafe/filters:\(filter)(\(percent))/a.jpg")))
            }
        }
        for share in ["0.33333", "0.354166666667", "0.123", "1.0"] {
            for (style, target) in [
                (URLStyle.Name.imagor, "/unsafe/0x0:\(share)x\(share)/a.jpg"),
                (.imagor, "/unsafe/30x20/filters:focal(\(share)x\(share))/a.jpg"),
                (.imagor, "/unsafe/fit-in/30x20/filters:focal(\(share)x\(share))/a.jpg"),
                (.imagor, "/unsafe/30x0/filters:focal(\(share)x\(share))/a.jpg"),
                (.imgproxy, "/x/rs:fill:300:400/g:fp:\(share):\(share)/plain/a.jpg"),
            ] {
                let ours = try #require(try translated(style, target))
                #expect(throws: Never.self, "\(target) \(ours)") { try readable(ours) }
            }
        }
    }

    // MARK: Cloudflare

    @Test(arguments: [
        (
            "/cdn-cgi/image/fit=scale-down,width=80,quality=75/uploads/avatar1.jpg",
            "/image/fit=scale-down,width=80,quality=75/uploads/avatar1.jpg"
        ),
        (
            "/cdn-cgi/image/width=400,format=baseline-jpeg,metadata=copyright,compression=fast/https://example.com/a.jpg?v=1",
            "/image/width=400,format=jpeg,metadata=none/https://example.com/a.jpg?v=1"
        ),
        ("/cdn-cgi/image/gravity=0.5x0.2,fit=cover,w=1,h=2/a.png", "/image/gravity=0.5x0.2,fit=cover,w=1,h=2/a.png"),
    ])
    func `Cloudflare's URLs are translated`(_ theirs: String, _ ours: String) throws {
        #expect(try translated(.cloudflare, theirs) == ours)
        try readable(ours)
    }

    @Test func `other paths in Cloudflare's style belong to the origin`() throws {
        #expect(try translated(.cloudflare, "/a/b.jpg") == nil)
        for style in URLStyle.Name.allCases {
            #expect(try translated(style, "/image/w=1/a.jpg") == nil, "\(style)")
        }
    }

    // MARK: imgproxy

    @Test(arguments: [
        (
            "/AfrOrF3gWeDA6VOlDG4TzxMv39O7MXnF4CXpKUwGqRM/resize:fill:300:400:0/gravity:sm/plain/http://example.com/images/curiosity.jpg",
            "/image/width=300,height=400,gravity=auto,fit=crop/http://example.com/images/curiosity.jpg"
        ),
        (
            "/x/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png",
            "/image/width=300,height=400,gravity=auto,format=png,fit=crop/http://example.com/images/curiosity.jpg"
        ),
        (
            "/x/preset:sharp/resize:fit:300:400:1/plain/http%3A%2F%2Fexample.com%2Fa%20b.jpg%3Fv=1@webp",
            "/image/sharp,width=300,height=400,format=webp,fit=contain/http://example.com/a%20b.jpg?v=1"
        ),
        (
            "/x/s:100:80:1:1/bg:255:0:16/q:70/mb:9000/plain/local:///a/b.jpg",
            "/image/width=100,height=80,background=ff0010,quality=70,max-bytes=9000,fit=pad/a/b.jpg"
        ),
        ("/x/w:100/h:0/rot:90/sm:0/plain/a.jpg@", "/image/width=100,rotate=90,metadata=keep/a.jpg"),
        (
            "/x/rs:force:9:8/dpr:2/bl:1.5/da:1/pd:5:5/plain/a.gif",
            "/image/width=9,height=8,dpr=2,blur=3,anim=0,padding=5,fit=fill/a.gif"
        ),
        ("/x/rs:fill:90:80/g:fp:0.3:0.7/plain/a.jpg", "/image/width=90,height=80,fit=crop,fp=0.3x0.7/a.jpg"),
        ("/x/cb:7/plain/a.jpg", "/image/format=auto/a.jpg"),
    ])
    func `imgproxy's URLs are translated`(_ theirs: String, _ ours: String) throws {
        #expect(try translated(.imgproxy, theirs) == ours)
        try readable(ours.replacing("sharp,", with: ""))
    }

    @Test func `imgproxy's signatures are those of its documentation, and expired URLs are refused`() throws {
        // The example of imgproxy's page about signing URLs.
        let key = try #require(URLStyle.Key.all(in: "736563726574 68656C6C6F", for: .imgproxy))
        let style = URLStyle(.imgproxy, keys: key)
        let path = "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png"
        let signed = "/oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8" + path
        #expect(try style.translated(signed, now: 0)?.target.hasPrefix("/image/width=300,height=400") == true)
        for other in [
            "/unsafe" + path, "/_" + path, "/oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH9" + path, signed + "x",
        ] {
            #expect(throws: ImageRequestError.self) { try style.translated(other, now: 0) }
        }
        #expect(throws: ImageRequestError.signature(.expired(at: 999_999))) {
            try translated(.imgproxy, "/x/exp:999999/plain/a.jpg")
        }
        let last = try URLStyle(.imgproxy).translated("/x/exp:1000000/plain/a.jpg", now: 1_000_000)
        #expect(last?.expiry == 1_000_000)
    }

    // MARK: thumbor and imagor

    @Test(arguments: [
        (
            "/unsafe/300x200/smart/path/to/image.jpg",
            "/image/width=300,height=200,gravity=auto,fit=cover/path/to/image.jpg"
        ),
        (
            "/unsafe/10x20:110x220/-300x-200/left/top/http://example.com/a.jpg?x=1",
            "/image/crop=10x20x100x200,width=300,height=200,flip=hv,gravity=top-left,fit=cover/http://example.com/a.jpg?x=1"
        ),
        ("/unsafe/trim:20/fit-in/300x0/a.jpg", "/image/trim=20,width=300/a.jpg"),
        (
            "/unsafe/fit-in/300x200/filters:fill(blue):quality(40):max_bytes(9000):format(jpg)/http%3A%2F%2Fexample.com%2Fa.jpg",
            "/image/width=300,height=200,quality=40,max-bytes=9000,format=jpeg,fit=extend,background=blue/http://example.com/a.jpg"
        ),
        (
            "/unsafe/filters:brightness(10):rotate(90):grayscale()/a.jpg",
            "/image/brightness=1.1,rotate=270,gray=1/a.jpg"
        ),
        ("/unsafe/300x/middle/filters:no_upscale()/a.jpg", "/image/width=300/a.jpg"),
        (
            "/unsafe/100x100/filters:round_corner(20,255,255,255)/a.jpg",
            "/image/width=100,height=100,radius=20,fit=cover/a.jpg"
        ),
        ("/unsafe/smart.jpg", "/image/format=auto/smart.jpg"),
    ])
    func `thumbor's URLs are translated`(_ theirs: String, _ ours: String) throws {
        #expect(try translated(.thumbor, theirs) == ours)
        try readable(ours.replacing("background=blue", with: "background=00f"))
    }

    @Test(arguments: [
        (
            "/unsafe/0.1x0.2:0.5x0.9/stretch/30x20/a.jpg",
            "/image/crop=10x20x40x70p,width=30,height=20,fit=fill/a.jpg"
        ),
        (
            "/unsafe/filters:page(3):max_frames(1)/b64:aHR0cHM6Ly9leGFtcGxlLmNvbS9hLmdpZg",
            "/image/frame=2,anim=0/https://example.com/a.gif"
        ),
        (
            "/unsafe/fit-in/200x150/filters:upscale():focal(0.5x0.25)/a.jpg",
            "/image/width=200,height=150,fit=contain/a.jpg"
        ),
    ])
    func `imagor's URLs are translated`(_ theirs: String, _ ours: String) throws {
        #expect(try translated(.imagor, theirs) == ours)
        try readable(ours)
    }

    @Test(arguments: [URLStyle.Name.thumbor, .imagor], ["1;2;1;2;4;2;1;2;1,3,true", "1;2,9,false"])
    func `a convolution is refused with a sentence, whatever its kernel is`(
        style: URLStyle.Name, matrix: String
    ) throws {
        let error = try #require(throws: ImageRequestError.self) {
            try translated(style, "/unsafe/30x20/filters:convolution(\(matrix))/a.jpg")
        }
        #expect("\(error)".contains("convolution"), "\(error)")
    }

    @Test(arguments: [URLStyle.Name.thumbor, .imagor])
    func `thumbor's signatures are HMAC with SHA-1 of the rest of the path`(_ name: URLStyle.Name) throws {
        let style = URLStyle(
            name, keys: try #require(URLStyle.Key.all(in: "# of thumbor.conf\nother\nmy-security-key\n", for: name)))
        // Computed with Python's hmac and base64.urlsafe_b64encode, as thumbor's page about security says.
        let (code, path) = ("TaWoUq6tvBe2HywzAULy6_Np-2k=", "/300x200/smart/path/to/image.jpg")
        #expect(
            try style.translated("/" + code + path, now: 0)?.target.hasPrefix("/image/width=300,height=200") == true)
        for other in [
            "/unsafe" + path, "/" + code + path + "x", "/" + code.dropFirst() + path, "/" + code + "/unsafe" + path,
        ] {
            #expect(throws: ImageRequestError.self, "\(other)") { try style.translated(other, now: 0) }
        }
    }

    // MARK: Blur

    /// imgproxy and thumbor have the standard deviation, imagor twice of it.
    @Test(
        arguments: [
            (URLStyle.Name.imgproxy, "10", 10), (.imgproxy, "0.3", 0.5), (.imgproxy, "125", 125), (.imgproxy, "0", nil),
            (.thumbor, "7", 7), (.thumbor, "7,2.5", 2.5), (.thumbor, "7,0", 7), (.imagor, "10", 5), (.imagor, "3,8", 4),
            (.imagor, "250", 125),
        ] as [(URLStyle.Name, String, Double?)])
    func `a blur has the strength of the other service's`(
        _ style: URLStyle.Name, _ given: String, _ sigma: Double?
    ) throws {
        let target =
            style == .imgproxy
            ? "/x/rs:fill:9:8/bl:\(given)/plain/a.jpg" : "/unsafe/9x8/filters:blur(\(given))/a.jpg"
        let ours = try #require(try translated(style, target))
        let options = try ImageOptions(ImageTarget(ours[...].dropFirst("/image/".count)).options)
        let expected: [ImageProcessor] = sigma.map { [.blur(sigma: $0)] } ?? []
        #expect(try options.processors([:]) == expected)
    }

    // MARK: Fits

    @Test(arguments: [
        ("/x/rs:fill-down:300:200:1/plain/a.jpg", "/image/width=300,height=200,fit=cover/a.jpg"),
        ("/x/rs:fill-down:300/plain/a.jpg", "/image/width=300/a.jpg"),
        ("/x/rt:fill-down/plain/a.jpg", "/image/format=auto/a.jpg"),
    ])
    func `fill-down is read where it is the same as another type`(_ theirs: String, _ ours: String) throws {
        #expect(try translated(.imgproxy, theirs) == ours)
    }

    // MARK: Refusals

    @Test(arguments: [
        (URLStyle.Name.imgproxy, "/x/rs:fill-down:300:200/plain/a.jpg", "use fill"),
        (.imgproxy, "/x/w:9/h:8/bl:125.5/plain/a.jpg", "to 125"), (.imgproxy, "/x/w:9/h:8/bl:-1/plain/a.jpg", "0 to"),
        (.thumbor, "/unsafe/9x8/filters:blur(126)/a.jpg", "to 125"),
        (.thumbor, "/unsafe/9x8/filters:blur(1,200)/a.jpg", "to 125"),
        (.imagor, "/unsafe/9x8/filters:blur(251)/a.jpg", "to 250"),
        (.cloudflare, "/cdn-cgi/image/onerror=redirect/a.jpg", "fallback-image"),
        (.cloudflare, "/cdn-cgi/image/gravity=face,w=1/a.jpg", "gravity=auto"),
        (.cloudflare, "/cdn-cgi/image/quality=high/a.jpg", "quality=1"),
        (.imgproxy, "/x/pixelate:5/plain/a.jpg", "pixelate"), (.imgproxy, "/x/rs:auto:1:1/plain/a.jpg", "fill-down"),
        (.imgproxy, "/x/g:so:10:0/plain/a.jpg", "gravity"), (.imgproxy, "/x/wm:0.5:soea/plain/a.jpg", "watermarks"),
        (.imgproxy, "/x/plain/a.jpg@bmp", "bmp"), (.imgproxy, "/x/%%%", "bad"),
        (.imgproxy, "/x/ar:0/plain/a.jpg", "upright"),
        (.thumbor, "/unsafe/meta/a.jpg", "/image/info"), (.thumbor, "/unsafe/filters:noise(40)/a.jpg", "noise"),
        (.thumbor, "/unsafe/adaptive-fit-in/1x1/a.jpg", "fit-in"), (.thumbor, "/unsafe/origx10/a.jpg", "orig"),
        (.thumbor, "/unsafe/filters:fill(blur)/a.jpg", "colour"),
        (.thumbor, "/unsafe/filters:quality(/a.jpg", "filters"),
        (.imagor, "/unsafe/10x10/5x5:6x6/a.jpg", "padding"), (.imagor, "/unsafe/filters:label(x)/a.jpg", "label"),
    ])
    func `an option without an equivalent is an error that names the alternative`(
        _ style: URLStyle.Name, _ target: String, _ word: String
    ) {
        do {
            let ours = try translated(style, target)
            Issue.record("\(ours ?? "nil")")
        } catch .invalidOption(let error) {
            #expect(error.message.contains(word) || error.code.contains(word), "\(error)")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test(arguments: URLStyle.Name.allCases)
    func `a mutated URL is translated, refused or not taken, and never crashes`(_ style: URLStyle.Name) {
        let seeds = [
            "/cdn-cgi/image/fit=cover,w=8/a.jpg", "/x/rs:fill:300:400:0/g:fp:0.1:0.2/plain/http://h/a.jpg@png",
            "/unsafe/trim/1x2:3x4/fit-in/-3x-4/left/top/smart/filters:fill(a,b):quality(7)/http://h/a.jpg",
            "/a%2Fb.jpg/pct:1,2,3,4/^!5,6/!90/gray.png", "/a.jpg/info.json",
        ]
        var random = SeededGenerator(for: "URLs of other services")
        for _ in 0..<20_000 {
            var bytes = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes.remove(at: place)
                } else {
                    bytes[place] = .random(in: 33...126, using: &random)
                }
                if bytes.isEmpty { bytes = [47] }
            }
            let target = String(decoding: bytes, as: UTF8.self)
            if let ours = try? translated(style, target) { #expect(ours.hasPrefix("/image/"), "\(target)") }
        }
    }

    @Test(arguments: [
        (URLStyle.Name.imgproxy, "abc"), (.imgproxy, "zz zz"), (.thumbor, "two words"), (.imagor, "\n# none\n"),
    ])
    func `a key file without keys is refused`(_ style: URLStyle.Name, _ text: String) {
        #expect(URLStyle.Key.all(in: text, for: style) == nil)
    }

    /// The image target can be read by the rules of this service.
    /// - Returns: The options of a target that can be read.
    @discardableResult
    private func readable(_ target: String) throws -> Substring {
        let parsed = try ImageTarget(target[...].dropFirst("/image/".count))
        _ = try ImageOptions(parsed.options)
        return parsed.options
    }
}
