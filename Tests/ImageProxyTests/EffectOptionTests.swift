import ImageCache
import Testing

@testable import ImageProxy

@Suite("Options of effects")
struct EffectOptionTests {
    @Test func `are read as written, the focal point with its comma`() throws {
        let options = try ImageOptions(
            "w=9,h=9,fp=0.3,0.75,fit=cover,trim=12,r=4,wm=logo,wm-scale=30,wm-opacity=50,wm-position=top")
        #expect(options.focalPoint == .focus(x: 0.3, y: 0.75) && options.decodedSizing == .fit(4096, 4096))
        #expect((options.effects.trim, options.effects.radius, options.effects.watermark) == (12, 4, "logo"))
        #expect((options.effects.watermarkScale, options.effects.watermarkOpacity) == (30, 50))
        #expect(options.effects.watermarkPosition == .top)
        for text in ["fp=0.3x0.75,w=9,h=9,fit=crop", "w=9,h=9,fit=crop,fp=0.3%2C0.75", "w=9,fp=0.3,0.75,h=9,fit=crop"] {
            #expect(try ImageOptions(text).sizing?.position == .focus(x: 0.3, y: 0.75), "\(text)")
        }
        #expect(try ImageOptions("w=9,r=max").effects.radius == ImageEffects.greatestRadius)
    }

    @Test(arguments: [
        ("fp=0.3", "\"fp\" must be"), ("fp=0.3,1.1,w=9,h=9,fit=cover", "\"fp\" must be"), ("fp=a,b", "\"fp\" must be"),
        ("fp=0.1,0.2,0.3", "has no value"), ("w=9,fp=0.5,0.5", "\"fp\" requires fit"), ("trim=256", "\"trim\" must be"),
        ("trim=auto", "\"trim\" must be"), ("r=4097", "\"r\" must be"), ("radius=-1", "\"radius\" must be"),
        ("wm-scale=0", "\"wm-scale\" must be"), ("wm-opacity=101", "\"wm-opacity\" must be"),
        ("wm-position=auto", "\"wm-position\" must be"), ("r=1,radius=2", "more than once"),
        ("wmark=x", "\"wmark\" is unknown; known are anim, background, blur"),
    ])
    func `that cannot be read are refused by name`(text: String, problem: String) {
        let error = #expect(throws: ImageOptionError.self) { try ImageOptions(text) }
        #expect(error?.message.contains(problem) == true, "\(String(describing: error))")
    }

    @Test func `are effects in their order, and change no image that is without them`() throws {
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

    @Test func `another mark is another image`() throws {
        let one = ImageWatermark(try DecodedImage(width: 1, height: 1) { $0[3] = 255 })
        let other = ImageWatermark(try DecodedImage(width: 1, height: 1) { $0[3] = 254 })
        #expect(ImageProcessor.watermark(one) == .watermark(one) && ImageProcessor.watermark(one) != .watermark(other))
    }

    @Test func `are for presets alone where widths are restricted`() throws {
        var restrictions = ImageRestrictions()
        restrictions.widths = [64]
        let presets = try ImagePresets([("round", "w=64,r=9")])
        #expect(try restrictions.checked(presets.options("round")).effects.radius == 9)
        for text in ["w=64,r=9", "w=64,trim=1", "w=64,wm=logo", "round,r=8"] {
            #expect(throws: ImageRequestError.self, "\(text)") { try restrictions.checked(presets.options(text[...])) }
        }
    }
}
