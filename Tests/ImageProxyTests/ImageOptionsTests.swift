import ImageCache
import Testing

@testable import ImageProxy

@Suite("An image's options")
struct ImageOptionsTests {
    private func options(_ text: String) throws -> ImageOptions { try ImageOptions(text) }

    @Test func `image options are read under either name, in any order, encoded or not`() throws {
        let all = try options("w=256,h=128,fit=cover,format=webp,q=70,dpr=1.5,g=top-left,bg=ffcc00,metadata=keep")
        #expect((all.width, all.height) == (256, 128))
        #expect(all.fit == .cover && all.format == .webp && all.quality == 70 && all.devicePixelRatio == 1.5)
        #expect(all.gravity == .topLeft && all.background == .init(red: 255, green: 204, blue: 0) && all.keepsMetadata)
        #expect(
            try options(
                "metadata=keep,background=%23fc0,position=top%2dleft,dpr=1.50,quality=70,f=webp,fit=cover,height=128,width=256"
            )
                == all)
        #expect(try options("w=100") == options("width=100,dpr=1,quality=80,fit=scale-down,format=auto,gravity=center"))
        #expect(try options("w=10,frame=12").frame == 12)
        #expect(try options("w=10").keepsAnimation)
        #expect(try options("w=10,anim=true") == options("w=10,anim=1"))
        for still in ["w=10,anim=0", "w=10,anim=false", "w=10,anim=1,frame=0"] {
            #expect(try options(still).keepsAnimation == false)
        }
        #expect(try options("w=10,h=10,blur=4").processors([:]) == [.blur(sigma: 2)])
    }

    @Test(arguments: [
        ("", "option is empty"), ("w=1,", "option is empty"), (",w=1", "option is empty"), ("w", "\"w\" has no value"),
        ("w=", "\"w\" has an invalid value"), ("w=%", "\"w\" has an invalid value"),
        ("w=%ff", "\"w\" has an invalid value"),
        ("width=0", "\"width\" must be an integer from 1 to 8192"), ("w=-1", "\"w\" must be"),
        ("w=+1", "\"w\" must be"),
        ("w=1e3", "\"w\" must be"), ("w=8193", "\"w\" must be"), ("w=99999999999999999999", "\"w\" must be"),
        ("w=auto", "\"w\" must be"), ("h=1.5", "\"h\" must be"), ("frame=1000", "\"frame\" must be"),
        ("anim=2", "\"anim\" must be 1 or 0"),
        ("anim=yes", "\"anim\" must be"),
        ("w= 1", "\"w\" must be"), ("q=0", "\"q\" must be"),
        ("quality=101", "\"quality\" must be an integer from 1 to 100"),
        ("max-bytes=499", "\"max-bytes\" must be an integer from 500 to 16777216"),
        ("fit=Cover", "\"fit\" must be one of inside, scale-down, contain"),
        ("fit=none", "\"fit\" must be one of"),
        ("format=heif", "\"format\" must be one of auto, avif, webp, jpeg, png"),
        ("f=json", "\"f\" must be one of"), ("dpr=0", "\"dpr\" must be"), ("dpr=4.01", "\"dpr\" must be"),
        ("dpr=nan", "\"dpr\" must be"), ("dpr=0x1", "\"dpr\" must be"), ("dpr=1.234", "\"dpr\" must be"),
        ("dpr=.5", "\"dpr\" must be"),
        ("g=face", "\"g\" must be"), ("g=1.1x0", "\"g\" must be"), ("g=0.5x", "\"g\" must be"),
        ("g=x", "\"g\" must be"),
        ("background=red", "\"background\" must be"), ("bg=12345", "\"bg\" must be"), ("bg=gggggg", "\"bg\" must be"),
        ("metadata=copyright", "\"metadata\" must be keep or none"), ("W=1", "\"W\" is unknown"),
        ("solarize=1", "\"solarize\" is unknown"),
        ("w=1,w=1", "\"w\" is specified more than once"), ("w=1,width=2", "\"width\" is specified more than once"),
        ("g=top,position=left", "\"position\" is specified more than once"), ("=1", "\"\" is unknown"),
        ("w=8192,dpr=1.01", "\"width\" times dpr"), ("h=4096,dpr=2.1", "\"height\" times dpr"),
        ("w=8192,h=4097", "\"width\" times height"), ("blur=251", "\"blur\" must be"), ("blur=1", "\"blur\" requires"),
        ("w=10,blur=1", "\"blur\" requires"), ("w=4096,h=4096,blur=1", "\"blur\" requires"),
        ("fit=contain", "\"fit\" requires a width or a height"),
        ("w=5,fit=cover", "\"fit\" requires a width and a height"),
        ("h=5,fit=pad", "\"fit\" requires a width and a height"),
        ("w=5,fit=outside", "\"fit\" requires a width and a height"),
    ])
    func `invalid image options are refused by name`(text: String, problem: String) {
        #expect {
            try ImageOptions(text)
        } throws: { error in
            let optionError = error as? ImageOptionError
            return optionError?.code == "bad-option" && optionError?.message.contains(problem) == true
        }
    }

    @Test func `a limit in bytes holds for each format with a quality`() throws {
        var (jpeg, webP) = (ImageEncoder.JPEGOptions(quality: 70), ImageEncoder.WebPOptions(quality: 70))
        (jpeg.maxBytes, webP.maxBytes) = (9000, 9000)
        var avif = ImageEncoder.AVIFOptions(likeJPEG: 70)
        avif.maxBytes = 9000
        let every = try options("q=70,max-bytes=9000")
        #expect(every.encoding(for: AcceptedFormats(["image/avif,image/webp"])) == .avifIfLarge(avif, else: webP))
        #expect(every.encoding(for: AcceptedFormats([])) == .likeOriginal(jpeg))
        #expect(try options("max-bytes=16777216").maxBytes == 16 << 20)
        #expect(
            try options("f=png,max-bytes=9000").encoding(for: AcceptedFormats([]))
                == options("f=png").encoding(for: AcceptedFormats([])), "an option without effect makes no other image")
    }

    @Test func `sizing options mean the same as at Cloudflare`() throws {
        #expect(try options("q=5").sizing == nil)
        let table: [(String, ImageSizing.Fit, Bool)] = [
            ("w=9", .inside, false), ("w=9,fit=contain", .inside, true), ("w=9,h=8,fit=cover", .cover, true),
            ("w=9,h=8,fit=crop", .cover, false), ("w=9,h=8,fit=pad", .contain, true),
            ("w=9,h=8,fit=squeeze", .fill, true), ("w=9,h=8,fit=outside", .outside, false),
        ]
        for (text, fit, enlarges) in table {
            let sizing = try #require(try options(text).sizing)
            #expect(sizing.fit == fit && sizing.allowsEnlargement == enlarges, "\(text)")
        }
        // An option without effect does not create another image.
        #expect(try options("w=9,g=left").sizing == options("w=9").sizing)
        #expect(try options("w=9,h=9,fit=cover,g=left").sizing?.position == .left)
        #expect(try options("w=9,h=9,fit=cover,g=auto").sizing?.position == .attention)
        #expect(try options("w=9,h=9,fit=cover,g=0.25x1").sizing?.position == .at(x: 0.25, y: 1))
        #expect(try options("w=9,h=9,fit=pad,bg=000").sizing?.background == .black)
        #expect(try options("w=9,h=9,fit=pad").sizing?.background == nil)
    }

    @Test(arguments: [("inside", "scale-down"), ("fill", "squeeze")])
    func `a shape has a name from CSS and one from Cloudflare, with the same meaning`(css: String, cloudflare: String)
        throws
    {
        let named = try options("w=9,h=8,fit=\(css)")
        #expect(try named == options("w=9,h=8,fit=\(cloudflare)"))
        #expect(try named.sizing == options("w=9,h=8,fit=\(cloudflare)").sizing)
    }

    @Test func `a sliver never becomes a giant image`() throws {
        for (text, width, height) in [
            ("w=100", 100, 8192), ("h=100,fit=contain", 8192, 100), ("w=8192", 8192, 4096), ("w=100,dpr=4", 100, 2048),
            ("h=2048,dpr=4", 1024, 2048),
        ] {
            let sizing = try #require(try options(text).sizing)
            #expect(sizing.width == width && sizing.height == height, "\(text): \(sizing)")
        }
    }

    @Test func `options choose a format that the client accepts`() throws {
        #expect(try options("w=9").encoding(for: AcceptedFormats(["image/webp"])) == .encoder(.webp(quality: 80)))
        #expect(try options("w=9,q=50").encoding(for: AcceptedFormats()) == .likeOriginal(.init(quality: 50)))
        #expect(try options("f=webp").encoding(for: AcceptedFormats()) == .encoder(.webp(quality: 80)))
        #expect(try options("f=jpeg,q=9").encoding(for: AcceptedFormats(["image/webp"])) == .encoder(.jpeg(quality: 9)))
        let both = AcceptedFormats(["image/avif,image/webp"])
        #expect(
            try options("w=9,q=90").encoding(for: both)
                == .avifIfLarge(.init(quality: 80), else: .init(quality: 90)))
        #expect(try options("f=avif").encoding(for: AcceptedFormats()) == .encoder(.avif(quality: 60)))
        // If AVIF is not worth its time, clients without WebP support get the format that all clients support.
        #expect(
            try options("w=9").encoding(for: AcceptedFormats(["image/avif"])) == .likeOriginal(.init(quality: 80)))
        #expect(try options("f=gif,q=9").encoding(for: AcceptedFormats(["image/webp"])) == .encoder(.gif()))
        #expect(try options("f=png,q=9").encoding(for: AcceptedFormats(["image/webp"])) == .encoder(.png()))
    }

    @Test func `options can request each format that the library writes`() {
        let written = ImageOptions.Format.allCases.compactMap { format -> ImageFormat? in
            guard let encoding = try? options("f=\(format.rawValue)").encoding(for: AcceptedFormats()),
                case .encoder(let encoder) = encoding
            else { return nil }
            return encoder.format
        }
        for format in ImageFormat.allCases where format.isWritten {
            #expect(written.contains(format), "ImageOptions.Format of the service lacks \(format)")
        }
    }
}

@Suite("Accept")
struct AcceptedFormatsTests {
    @Test(arguments: [
        ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", true),
        ("image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", true), ("image/webp", true),
        ("image/webp;q=0.5", true), ("IMAGE/WebP ; Q=0.5 , text/html", true), ("image/webp;v=1;q=0.001", true),
        ("image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5", false), ("*/*", false),
        ("image/*", false),
        ("", false), ("image/webp;q=0", false), ("image/webp;q=0.0,*/*", false), ("image/webp;q=0.5,*/*", false),
        ("image/webp;q=0.5,image/jpeg", false), ("image/webp;q=0.9,image/png;q=0.8,image/jpeg;q=0.95", false),
        ("image/webp,image/jpeg;q=0.9", true), ("image/webp;q=x", false), ("image/webp;q=2", false),
        ("image/webpx", false), ("text/image/webp", false), (",,;,", false),
    ])
    func `Accept allows WebP if it names WebP, and nothing better`(line: String, isWebP: Bool) {
        #expect(AcceptedFormats([line]).isWebP == isWebP)
    }

    @Test(arguments: [
        ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", true), ("image/avif", true),
        ("image/avif;q=0.9,image/webp", false), ("image/webp,*/*", false), ("image/avif;q=0", false),
        ("image/avif;q=0.5,image/*", false), ("image/avif;q=0.9,image/webp;q=0.9,image/jpeg;q=0.9", true),
    ])
    func `Accept allows AVIF if it names AVIF and prefers nothing to it`(line: String, isAVIF: Bool) {
        #expect(AcceptedFormats([line]).isAVIF == isAVIF)
    }

    @Test(arguments: [
        ("image/avif,image/webp,*/*;q=0.8", true), ("image/*", true), ("text/html, IMAGE/PNG ; q=0.1", true),
        ("*/*", false), ("application/json", false), ("image/png;q=0", false), ("", false), ("text/image/png", false),
        ("image/png;q=x", false), ("image/png;q=1.5", false), ("image/png; q=0, image/jpeg", true),
    ])
    func `Accept asks for an image if it names an image type`(line: String, isImage: Bool) {
        #expect(AcceptedFormats([line]).isImage == isImage)
        #expect(!AcceptedFormats([]).isImage)
    }

    @Test func `Accept may span several lines`() {
        #expect(AcceptedFormats(["text/html", "image/webp"]).isWebP)
        #expect(!AcceptedFormats(["image/webp;q=0.1", "image/*"]).isWebP)
        #expect(!AcceptedFormats([]).isWebP && !AcceptedFormats([]).isAVIF)
    }
}
