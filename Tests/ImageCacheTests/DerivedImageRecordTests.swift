import FoundationEssentials
import HTTPCaching
import ImageCodec
import ImageEffects
import Testing

@testable import ImageCache

@Suite struct DerivedImageRecordTests {
    private var response: ResponseRecord {
        let response = StoredResponse(
            requestURL: "https://example.com/a", status: .ok, fields: [.eTag: "\"1\""],
            requestTime: Date(timeIntervalSince1970: 1_700_000_000),
            responseTime: Date(timeIntervalSince1970: 1_700_000_000))
        return ResponseRecord(url: "https://example.com/a", response: response)
    }

    private static var limited: ImageEncoder {
        var options = ImageEncoder.JPEGOptions(quality: 70)
        options.maxBytes = 9000
        return ImageEncoder(.jpeg(options))
    }

    private func record(_ damage: ImageCodecError?) -> DerivedImageRecord {
        DerivedImageRecord(original: 7, width: 20, height: 10, format: .webp, damage: damage, response: response)
    }

    @Test(arguments: [
        nil, ImageCodecError(.corrupt, format: .jpeg, "premature end"), ImageCodecError(.truncated, "cut"),
    ]) func `a record of a derived image is decoded with its format and damage`(_ damage: ImageCodecError?) throws {
        let decoded = try #require(DerivedImageRecord(decoding: record(damage).encoded))
        #expect(decoded.original == 7 && decoded.width == 20 && decoded.height == 10)
        #expect(decoded.format == .webp && decoded.damage == damage && decoded.response == response)
    }

    @Test func `a record of the previous version is decoded without format and damage`() throws {
        let current = record(nil).encoded
        // The version, three numbers; then an optional text and a byte were added.
        var former = current
        former[0] = 0x81
        former.removeSubrange(25..<32)
        let decoded = try #require(DerivedImageRecord(decoding: former))
        #expect(decoded.original == 7 && decoded.format == nil && decoded.damage == nil && decoded.response == response)
    }

    @Test func `bytes that end early or are something else are rejected as a record`() {
        let whole = record(ImageCodecError(.corrupt, "x")).encoded
        for count in 0..<whole.count { #expect(DerivedImageRecord(decoding: Array(whole.prefix(count))) == nil) }
        #expect(DerivedImageRecord(decoding: [0x99] + whole.dropFirst()) == nil)
    }

    @Test(
        arguments: [
            (ImageSizing.fit(256, 192), [], ImageEncoder.jpeg(), "256 × 192, fit inside, JPEG quality 80"),
            (.init(width: 64), [.circle], .png(), "64 wide, fit inside, circle, PNG"),
            (
                .cover(9, 8, position: .attention), [], .webp(quality: 72.5),
                "9 × 8, fit cover, position attention, WebP quality 72.5"
            ),
            (
                .init(height: 10, fit: .outside), [.blur(sigma: 2.5), .roundedCorners(radius: 4)],
                .webp(isLossless: true), "10 high, fit outside, blur 2.5, corners 4, lossless WebP"
            ),
            (.fit(9, 8), [], .gif(), "9 × 8, fit inside, GIF"),
            (.fit(9, 8), [], limited, "9 × 8, fit inside, JPEG quality 70, at most 9000 bytes"),
            (
                .fit(9, 8), [], .gif(colors: 16, isDithered: false),
                "9 × 8, fit inside, GIF of 16 colours, not dithered"
            ),
            (
                .fit(9, 8),
                [
                    .region(.shares(x: 0, y: 0.25, width: 1, height: 0.5)), .orient(.right),
                    .adjust(contrast: 0.5), .background(.white),
                ], .gif(),
                "9 × 8, fit inside, region 0,0.25,1.0x0.5, orientation 6, "
                    + "adjust brightness=1,contrast=0.5,saturation=1, background #ffffff, GIF"
            ),
        ] as [(ImageSizing, [ImageProcessor], ImageEncoder, String)]) func `a recipe is described in words`(
            sizing: ImageSizing, processors: [ImageProcessor], encoder: ImageEncoder, words: String
        )
    {
        var request = ImageRequest("https://example.com/a", sizing)
        request.processors = processors
        #expect(ImageRecipe.words(ImageRecipe(request, .encoded(encoder)).text) == words)
    }

    private struct OtherEncoder: ImageEncoding {
        let format: ImageFormat
        let identity: String

        init(_ format: String, _ identity: String) {
            self.format = ImageFormat(name: format, mediaType: "image/x-other")
            self.identity = identity
        }

        func encode(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> [UInt8] { [] }
    }

    /// The keys under which results are on disk.
    private static let encoders: [(encoder: ImageEncoder, recipe: String)] = [
        (.jpeg(), "jpeg,q=80,yes420"), (limited, "jpeg,q=70,yes420,max=9000"), (.png(), "png,level=6"),
        (.png(level: 1), "png,level=1"), (.webp(), "webp,q=80.0,effort=4"),
        (.webp(isLossless: true), "webp,q=80.0,effort=4,lossless"), (.avif(), "avif,q=60,speed=8"),
        (.gif(), "gif,colors=256"),
        (.gif(colors: 16, isDithered: false), "gif,colors=16,plain"),
        (ImageEncoder(PlaceholderEncoding(placeholder: .thumbHash, isJSON: false)), "encoder=thumbhash 1"),
        (ImageEncoder(PlaceholderEncoding(placeholder: .thumbHash, isJSON: true)), "encoder=thumbhash-json 1"),
        (ImageEncoder(PlaceholderEncoding(placeholder: .dominantColor, isJSON: false)), "encoder=color 1"),
        (ImageEncoder(OtherEncoder("PPM", "a")), "encoder=3:PPM,a"),
        (ImageEncoder(OtherEncoder("PPM", "b")), "encoder=3:PPM,b"),
        (ImageEncoder(OtherEncoder("QOI", "a")), "encoder=3:QOI,a"),
        (ImageEncoder(OtherEncoder("a,b", "c")), "encoder=3:a,b,c"),
        (ImageEncoder(OtherEncoder("a", "b,c")), "encoder=1:a,b,c"),
        (ImageEncoder(OtherEncoder("hash", "thumbhash 1")), "encoder=4:hash,thumbhash 1"),
        (ImageEncoder(OtherEncoder("JPEG", "jpeg,q=80,yes420")), "encoder=4:JPEG,jpeg,q=80,yes420"),
    ]

    @Test func `each encoder has a recipe of its own, which stays the same`() {
        for (encoder, recipe) in Self.encoders { #expect(encoder.recipe == recipe) }
        #expect(Set(Self.encoders.map { $0.recipe }).count == Self.encoders.count)
        #expect(Set(Self.encoders.map { $0.encoder }).count == Self.encoders.count)
    }

    @Test func `an application's encoder is described by its identity`() {
        let request = ImageRequest("https://example.com/a", ImageSizing.fit(9, 8))
        for identity in ["pixmap-1", "3:PPM,x", "", "a,b: c"] {
            let recipe = ImageRecipe(request, .encoded(ImageEncoder(OtherEncoder("P,M", identity))))
            #expect(ImageRecipe.words(recipe.text) == "9 × 8, fit inside, encoded by \(identity)")
        }
        // As recipes were before they had the format.
        #expect(ImageRecipe.words("10:9x8,inside 16:encoder=pixmap-1") == "9 × 8, fit inside, encoded by pixmap-1")
    }

    @Test func `an animation becomes a still image under an effect whose results vary in size`() {
        var request = ImageRequest("https://example.com/a", ImageSizing.fit(10, 10))
        request.processors = [.roundedCorners(radius: 2)]
        #expect(ImageRecipe(request, .encoded(.webp())).keepsAnimation)
        request.processors.append(.trim(tolerance: 3))
        #expect(!ImageRecipe(request, .encoded(.webp())).keepsAnimation)
    }

    @Test func `an animation in the original's format is a GIF, and a still image never is`() throws {
        let output = ImageRecipe.Output.likeOriginal(.init())
        var request = ImageRequest("https://example.com/a", ImageSizing.fit(10, 10))
        #expect(ImageRecipe(request, output).keepsAnimation && output.animationEncoder == .gif())
        for alpha: UInt8 in [0, 255] {
            let image = try DecodedImage(width: 1, height: 1) {
                $0.storeBytes(of: alpha, toByteOffset: 3, as: UInt8.self)
            }
            #expect(output.encoder(for: image, of: .gif)?.format == (alpha == 0 ? .png : .jpeg))
        }
        request.decoder.frame = 1
        #expect(!ImageRecipe(request, output).keepsAnimation)
        request.decoder.frame = 0
        request.keepsAnimation = false
        #expect(!ImageRecipe(request, output).keepsAnimation)
    }

    @Test func `every recipe has a description, however damaged it is`() {
        for text in ["", "x", "5:", "3:abc", "2:ab 9:abc", "0: 0:", "3:1x1 4:jpeg"] {
            #expect(ImageRecipe.words(text).count >= text.count / 9)
        }
        var sizing = ImageSizing(width: 3, height: 4, fit: .contain)
        sizing.background = .init(red: 255, green: 204, blue: 0)
        sizing.devicePixelRatio = 2
        let request = ImageRequest("https://example.com/a", sizing)
        #expect(
            ImageRecipe.words(ImageRecipe(request, .likeOriginal(.init(quality: 7))).text)
                == "3 × 4, fit contain, 2 pixels for one, on #ffcc00, format of the original, JPEG quality 7")
    }
}
