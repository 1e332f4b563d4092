import ImageCache
import ImageEffects
import Testing

@testable import ImageProxy

@Suite("Options of effects")
struct EffectOptionTests {
    @Test func `effect options are read as written, including the comma of a focal point`() throws {
        let options = try ImageOptions(
            "w=9,h=9,fp=0.3,0.75,fit=cover,trim=12,r=4,wm=logo,wm-scale=30,wm-opacity=50,wm-position=top")
        #expect(options.effects.focalPoint == .focus(x: 0.3, y: 0.75) && options.decodedSizing == .fit(4096, 4096))
        #expect((options.effects.trim, options.effects.radius, options.effects.watermark) == (12, 4, "logo"))
        #expect((options.effects.watermarkScale, options.effects.watermarkOpacity) == (30, 50))
        #expect(options.effects.watermarkPosition == .top)
        for text in ["fp=0.3x0.75,w=9,h=9,fit=crop", "w=9,h=9,fit=crop,fp=0.3%2C0.75", "w=9,fp=0.3,0.75,h=9,fit=crop"] {
            #expect(try ImageOptions(text).sizing?.position == .focus(x: 0.3, y: 0.75), "\(text)")
        }
        #expect(try ImageOptions("w=9,r=max").effects.radius == ImageOperations.greatestRadius)
    }

    @Test(arguments: [
        ("fp=0.3", "\"fp\" must be"), ("fp=0.3,1.1,w=9,h=9,fit=cover", "\"fp\" must be"), ("fp=a,b", "\"fp\" must be"),
        ("fp=0.1,0.2,0.3", "has no value"), ("w=9,fp=0.5,0.5", "\"fp\" requires fit"), ("trim=256", "\"trim\" must be"),
        ("trim=auto", "\"trim\" must be"), ("r=4097", "\"r\" must be"), ("radius=-1", "\"radius\" must be"),
        ("wm-scale=0", "\"wm-scale\" must be"), ("wm-opacity=101", "\"wm-opacity\" must be"),
        ("wm-position=auto", "\"wm-position\" must be"), ("r=1,radius=2", "more than once"),
        ("wmark=x", "\"wmark\" is unknown; known are anim, background, blur"),
    ])
    func `invalid effect options are refused by name`(text: String, problem: String) {
        let error = #expect(throws: ImageOptionError.self) { try ImageOptions(text) }
        #expect(error?.message.contains(problem) == true, "\(String(describing: error))")
    }

    @Test func `effect options become effects in a fixed order, and without them an image has none`() throws {
        let mark = ImageWatermark(try DecodedImage(width: 2, height: 2) { $0[3] = 255 })
        #expect(try ImageOptions("w=9").processors(["logo": mark]).isEmpty)
        let options = try ImageOptions("w=9,h=8,r=3,dpr=2,blur=4,trim=7,wm=logo,wm-scale=50")
        var scaled = mark
        scaled.scale = 0.5
        let sizing = try #require(options.sizing)
        #expect(
            try options.processors(["logo": mark]) == [
                .trim(tolerance: 7), .resize(sizing), .blur(sigma: 2), .watermark(scaled), .roundedCorners(radius: 6),
            ])
        let unknown = #expect(throws: ImageOptionError.self) { try options.processors(["other": mark, "a": mark]) }
        #expect(unknown?.message.contains("must be one of a, other") == true)
        #expect(throws: ImageOptionError.self) { try options.processors([:]) }
    }

    @Test func `options of colours, sharpness, parts and turns are read as written`() throws {
        let options = try ImageOptions(
            "w=9,crop=10x20x300x200,rotate=90,flip=hv,sharpen=1.5,brightness=0.8,contrast=1.2,saturation=0,gray=1,pd=7")
        #expect(options.effects.crop == .pixels(x: 10, y: 20, width: 300, height: 200))
        #expect(options.effects.rotation == 90 && options.effects.orientation == .left)
        #expect((options.effects.sharpening, options.effects.brightness, options.effects.contrast) == (1.5, 0.8, 1.2))
        #expect(options.effects.saturation == 0 && options.effects.isGray && options.effects.padding == 7)
        #expect(
            try ImageOptions("crop=10x5.5x80x60p").effects.crop == .shares(x: 0.1, y: 0.055, width: 0.8, height: 0.6))
        // Equal values are one image.
        #expect(try ImageOptions("w=9,brightness=1.0,rotate=0,zoom=1") == ImageOptions("w=9"))
    }

    @Test(arguments: [
        "crop=1x2x3", "crop=1x2x0x4", "crop=1x2x3x4x5", "crop=-1x2x3x4", "crop=0x0x101x50p", "crop=100x0x10x10p",
        "crop=x", "zoom=0.5", "zoom=11", "rotate=45", "rotate=360", "flip=x", "sharpen=-1", "sharpen=10.1",
        "brightness=1e3", "contrast=.5", "saturation=1.", "gray=2", "padding=1001", "w=8000,padding=100",
        "w=1,padding=1000,dpr=4", "w=4000,h=4000,padding=1000,dpr=1.3", "padding=1000,dpr=3",
    ])
    func `invalid options of operations are refused`(text: String) {
        #expect(throws: ImageOptionError.self) { try ImageOptions(text) }
    }

    @Test func `operations run in one order, whatever the order in the URL`() throws {
        let options = try ImageOptions(
            "gray=1,padding=3,sharpen=2,w=40,h=30,fit=cover,rotate=180,crop=0x0x50x50p,bg=fff,contrast=2,r=1")
        let sizing = try #require(options.sizing)
        #expect(options.decodedSizing == .fit(4096, 4096))
        #expect(
            try options.processors([:]) == [
                .region(.shares(x: 0, y: 0, width: 0.5, height: 0.5)), .orient(.down), .resize(sizing),
                .background(.white), .sharpen(amount: 2), .adjust(contrast: 2), .grayscale,
                .pad(by: 3, color: .white), .roundedCorners(radius: 1),
            ])
    }

    @Test func `gray is a flag, or bitonal`() throws {
        for (text, processors) in [
            ("gray=1", [ImageProcessor.grayscale]), ("grayscale=true", [.grayscale]), ("gray=bitonal", [.bitonal]),
            ("gray=0", []),
        ] {
            #expect(try ImageOptions(text).processors([:]) == processors, "\(text)")
        }
        let error = #expect(throws: ImageOptionError.self) { try ImageOptions("gray=2") }
        #expect(error?.message.contains("or bitonal") == true, "\(error?.message ?? "none")")
    }

    @Test func `a turn alone is applied to the small image`() throws {
        let turned = try ImageOptions("w=40,h=30,fit=cover,rotate=90")
        #expect((turned.decodedSizing?.width, turned.decodedSizing?.height) == (30, 40))
        #expect(try turned.processors([:]) == [.orient(.right)])
        // Otherwise another side would be kept.
        let top = try ImageOptions("w=40,h=30,fit=cover,rotate=90,g=top")
        #expect(top.decodedSizing == .fit(4096, 4096))
        #expect(try top.processors([:]) == [.orient(.right), .resize(try #require(top.sizing))])
    }

    @Test func `padding counts towards the size of the result`() throws {
        #expect(try ImageOptions("w=100,padding=1000,dpr=2").sizing?.height == 1994)
        #expect(try ImageOptions("h=100,padding=1000").sizing?.width == 6192)
        #expect(try ImageOptions("w=100").sizing?.height == 8192)
    }

    @Test func `a crop in pixels decodes the image at full size`() throws {
        #expect(try ImageOptions("w=40,crop=1x2x3x4").decodedSizing == nil)
    }

    @Test func `a zoom shows the part around the focal point`() throws {
        func region(_ text: String) throws -> ImageRegion? {
            let first = try ImageOptions(text).processors([:]).first
            return [
                ImageRegion.shares(x: 0.25, y: 0.25, width: 0.5, height: 0.5),
                .shares(x: 0, y: 0.5, width: 0.5, height: 0.5),
            ].first { .region($0) == first }
        }
        #expect(try region("w=9,zoom=2") == .shares(x: 0.25, y: 0.25, width: 0.5, height: 0.5))
        #expect(try region("w=9,zoom=2,fp=0.1,0.9") == .shares(x: 0, y: 0.5, width: 0.5, height: 0.5))
        // The point is that of the turned image, for the zoom as for what is kept.
        let part = ImageProcessor.region(.shares(x: 0, y: 0.5, width: 0.5, height: 0.5))
        let turned = try ImageOptions("w=9,h=9,fit=cover,zoom=2,fp=0.1,0.9,rotate=90")
        #expect(try turned.processors([:]) == [.orient(.right), part, .resize(try #require(turned.sizing))])
        let kept = try ImageOptions("w=9,h=9,fit=cover,zoom=2,fp=0.5,0.9").sizing?.position
        #expect(kept == .focus(x: 0.5, y: 0.8))
    }

    @Test(arguments: [0, 90, 180, 270])
    func `a rotation and a reflection combine to one orientation`(angle: Int) throws {
        let image = try DecodedImage(width: 3, height: 2) { memory in
            for index in 0..<24 { memory[index] = index % 4 == 3 ? 255 : UInt8(index / 4 * 10) }
        }
        for (flip, mirrors) in [
            ("h", [ImageOrientation.upMirrored]), ("v", [.downMirrored]), ("hv", [.upMirrored, .downMirrored]),
        ] {
            let turn = try ImageOptions("rotate=\(angle)").effects.orientation
            var expected = try image.oriented(turn)
            for mirror in mirrors { expected = try expected.oriented(mirror) }
            let found = try image.oriented(ImageOptions("rotate=\(angle),flip=\(flip)").effects.orientation)
            #expect((found.width, found.height) == (expected.width, expected.height))
            for y in 0..<found.height {
                for x in 0..<found.width { #expect(found[x, y] == expected[x, y], "\(angle) \(flip)") }
            }
        }
    }

    @Test func `another watermark makes another image`() throws {
        let one = ImageWatermark(try DecodedImage(width: 1, height: 1) { $0[3] = 255 })
        let other = ImageWatermark(try DecodedImage(width: 1, height: 1) { $0[3] = 254 })
        #expect(ImageProcessor.watermark(one) == .watermark(one) && ImageProcessor.watermark(one) != .watermark(other))
    }

    @Test func `effect options are only for presets if widths are restricted`() throws {
        var restrictions = ImageRestrictions()
        restrictions.widths = [64]
        let presets = try ImagePresets([("round", "w=64,r=9")])
        #expect(try restrictions.checked(presets.options("round")).effects.radius == 9)
        for text in ["w=64,r=9", "w=64,trim=1", "w=64,wm=logo", "round,r=8"] {
            #expect(throws: ImageRequestError.self, "\(text)") { try restrictions.checked(presets.options(text[...])) }
        }
    }
}
