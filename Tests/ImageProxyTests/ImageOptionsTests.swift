import ImageCache
import Testing

@testable import ImageProxy

@Suite("An image's options")
struct ImageOptionsTests {
    private func options(_ text: String) throws -> ImageOptions { try ImageOptions(text) }

    @Test("are read under either of their names, in any order, encoded or not")
    func reading() throws {
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
        #expect(try options("w=10,h=10,blur=4").processors == [.blur(sigma: 2)])
    }

    @Test(
        "that cannot be read are refused by name",
        arguments: [
            ("", "empty option"), ("w=1,", "empty option"), (",w=1", "empty option"), ("w", "\"w\" has no value"),
            ("w=", "\"w\" has no proper value"), ("w=%", "\"w\" has no proper value"),
            ("w=%ff", "\"w\" has no proper value"),
            ("width=0", "\"width\" takes a whole number from 1 to 8192"), ("w=-1", "\"w\" takes"),
            ("w=+1", "\"w\" takes"),
            ("w=1e3", "\"w\" takes"), ("w=8193", "\"w\" takes"), ("w=99999999999999999999", "\"w\" takes"),
            ("w=auto", "\"w\" takes"), ("h=1.5", "\"h\" takes"), ("w= 1", "\"w\" takes"), ("q=0", "\"q\" takes"),
            ("quality=101", "\"quality\" takes a whole number from 1 to 100"),
            ("fit=Cover", "\"fit\" takes one of scale-down"),
            ("fit=inside", "\"fit\" takes one of"), ("format=avif", "\"format\" takes one of auto, webp, jpeg, png"),
            ("f=json", "\"f\" takes one of"), ("dpr=0", "\"dpr\" takes"), ("dpr=4.01", "\"dpr\" takes"),
            ("dpr=nan", "\"dpr\" takes"), ("dpr=0x1", "\"dpr\" takes"), ("dpr=1.234", "\"dpr\" takes"),
            ("dpr=.5", "\"dpr\" takes"),
            ("g=face", "\"g\" takes"), ("g=1.1x0", "\"g\" takes"), ("g=0.5x", "\"g\" takes"), ("g=x", "\"g\" takes"),
            ("background=red", "\"background\" takes"), ("bg=12345", "\"bg\" takes"), ("bg=gggggg", "\"bg\" takes"),
            ("metadata=copyright", "\"metadata\" takes keep or none"), ("W=1", "\"W\" is not known"),
            ("sharpen=1", "\"sharpen\" is not known"), ("rotate=90", "\"rotate\" is not known"),
            ("w=1,w=1", "\"w\" stands twice"), ("w=1,width=2", "\"width\" stands twice"),
            ("g=top,position=left", "\"position\" stands twice"), ("=1", "\"\" is not known"),
            ("w=8192,dpr=1.01", "\"width\" times dpr"), ("h=4096,dpr=2.1", "\"height\" times dpr"),
            ("w=8192,h=4097", "\"width\" times height"), ("blur=251", "\"blur\" takes"), ("blur=1", "\"blur\" needs"),
            ("w=10,blur=1", "\"blur\" needs"), ("w=4096,h=4096,blur=1", "\"blur\" needs"),
            ("fit=contain", "\"fit\" needs a width or a height"),
            ("w=5,fit=cover", "\"fit\" needs a width and a height"),
            ("h=5,fit=pad", "\"fit\" needs a width and a height"),
        ])
    func refusing(text: String, problem: String) {
        #expect {
            try ImageOptions(text)
        } throws: { error in
            let mistake = error as? ImageOptionError
            return mistake?.code == "bad-option" && mistake?.message.contains(problem) == true
        }
    }

    @Test("are sizings as Cloudflare means them")
    func sizings() throws {
        #expect(try options("q=5").sizing == nil)
        let table: [(String, ImageSizing.Fit, Bool)] = [
            ("w=9", .inside, false), ("w=9,fit=contain", .inside, true), ("w=9,h=8,fit=cover", .cover, true),
            ("w=9,h=8,fit=crop", .cover, false), ("w=9,h=8,fit=pad", .contain, true),
            ("w=9,h=8,fit=squeeze", .fill, true),
        ]
        for (text, fit, enlarges) in table {
            let sizing = try #require(try options(text).sizing)
            #expect(sizing.fit == fit && sizing.allowsEnlargement == enlarges, "\(text)")
        }
        // What makes no difference makes no other image.
        #expect(try options("w=9,g=left").sizing == options("w=9").sizing)
        #expect(try options("w=9,h=9,fit=cover,g=left").sizing?.position == .left)
        #expect(try options("w=9,h=9,fit=cover,g=auto").sizing?.position == .attention)
        #expect(try options("w=9,h=9,fit=cover,g=0.25x1").sizing?.position == .at(x: 0.25, y: 1))
        #expect(try options("w=9,h=9,fit=pad,bg=000").sizing?.background == .black)
        #expect(try options("w=9,h=9,fit=pad").sizing?.background == nil)
    }

    @Test("never make a giant image of a sliver")
    func bounds() throws {
        for (text, width, height) in [
            ("w=100", 100, 8192), ("h=100,fit=contain", 8192, 100), ("w=8192", 8192, 4096), ("w=100,dpr=4", 100, 2048),
            ("h=2048,dpr=4", 1024, 2048),
        ] {
            let sizing = try #require(try options(text).sizing)
            #expect(sizing.width == width && sizing.height == height, "\(text): \(sizing)")
        }
    }

    @Test("choose the format that the client reads")
    func formats() throws {
        #expect(try options("w=9").encoding(acceptsWebP: true) == .encoder(.webp(quality: 80)))
        #expect(try options("w=9,q=50").encoding(acceptsWebP: false) == .likeOriginal(.init(quality: 50)))
        #expect(try options("f=webp").encoding(acceptsWebP: false) == .encoder(.webp(quality: 80)))
        #expect(try options("f=jpeg,q=9").encoding(acceptsWebP: true) == .encoder(.jpeg(quality: 9)))
        #expect(try options("f=png,q=9").encoding(acceptsWebP: true) == .encoder(.png()))
    }

    @Test func `can ask for each format that the library writes`() {
        let written = ImageOptions.Format.allCases.compactMap { format -> ImageFormat? in
            guard let encoding = try? options("f=\(format.rawValue)").encoding(acceptsWebP: false),
                case .encoder(let encoder) = encoding
            else { return nil }
            return encoder.format
        }
        for format in ImageFormat.allCases where format.isSupported {
            #expect(written.contains(format), "ImageOptions.Format of the service lacks \(format)")
        }
    }
}

@Suite("Accept")
struct AcceptedFormatsTests {
    @Test(
        "asks for WebP when it names it, and nothing better",
        arguments: [
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
    func one(line: String, isWebP: Bool) { #expect(AcceptedFormats.prefersWebP([line]) == isWebP) }

    @Test("may come in several lines")
    func several() {
        #expect(AcceptedFormats.prefersWebP(["text/html", "image/webp"]))
        #expect(!AcceptedFormats.prefersWebP(["image/webp;q=0.1", "image/*"]))
        #expect(!AcceptedFormats.prefersWebP([]))
    }
}
