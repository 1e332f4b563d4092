import CImageCodec
import TestSupport
import Testing

@testable import ImageCodec

/// No property of a value is forgotten on its way to another process (`checkFields`).
struct WireFieldTests {
    private var limits: DecodingLimits {
        var limits = DecodingLimits()
        (limits.pixels, limits.side, limits.bytes, limits.memory, limits.ancillary) = (1, 2, 3, 4, 5)
        (limits.scans, limits.frames, limits.animationPixels) = (6, 7, 8)
        (limits.animationSeconds, limits.seconds) = (9, 1.5)
        return limits
    }

    private let color = ImageSizing.Color(red: 1, green: 2, blue: 3)

    @Test func `every property of limits and a decoder is sent to a worker`() throws {
        try checkFields(of: limits, over: DecodingLimits())
        var decoder = ImageDecoder()
        (decoder.limits, decoder.allowTruncated, decoder.color, decoder.keepsMetadata) = (
            limits, true, .keepProfile, true
        )
        (decoder.appliesOrientation, decoder.usesLinearLight, decoder.frame) = (false, true, 7)
        // An application's own decoders stay in its process.
        try checkFields(of: decoder, over: ImageDecoder(), but: ["registered"])
    }

    @Test func `every property of a sizing is sent to a worker`() throws {
        try checkFields(of: color, over: .black)
        var sizing = ImageSizing(width: 1, height: 2, fit: .outside)
        (sizing.position, sizing.allowsEnlargement) = (.at(x: 0.25, y: 0.5), true)
        (sizing.devicePixelRatio, sizing.background) = (2, color)
        try checkFields(of: sizing, over: ImageSizing())
        for position: ImageSizing.Position in [
            .top, .bottom, .left, .right, .topLeft, .topRight, .bottomLeft, .bottomRight, .entropy, .attention,
            .at(x: 0.1, y: 0.2), .focus(x: 0.3, y: 0.4),
        ] {
            try checkFields(of: position, over: .center)
        }
        try checkFields(of: ImageSizing.Position.center, over: .top)
        for fit in ImageSizing.Fit.allCases {
            var sizing = sizing
            sizing.fit = fit
            try checkFields(of: sizing, over: ImageSizing(), but: ["fit"])
        }
        try checkFields(of: DecodingScale.eighths(3), over: .whole)
        try checkFields(of: DecodingScale.size(width: 4, height: 5), over: .whole)
        try checkFields(of: DecodingScale.whole, over: .eighths(1))
    }

    @Test func `every property of an encoder is sent to a worker`() throws {
        var jpeg = ImageEncoder.JPEGOptions(quality: 1)
        (jpeg.isProgressive, jpeg.subsampling, jpeg.background, jpeg.maxBytes) = (true, .none444, color, 9)
        try checkFields(of: jpeg, over: ImageEncoder.JPEGOptions())
        var png = ImageEncoder.PNGOptions(level: 1)
        png.usesPalette = false
        try checkFields(of: png, over: ImageEncoder.PNGOptions())
        var webP = ImageEncoder.WebPOptions(quality: 1, isLossless: true)
        (webP.effort, webP.maxBytes) = (1, 9)
        try checkFields(of: webP, over: ImageEncoder.WebPOptions())
        var avif = ImageEncoder.AVIFOptions(quality: 1, speed: 1)
        avif.maxBytes = 9
        try checkFields(of: avif, over: ImageEncoder.AVIFOptions())
        let gif = ImageEncoder.GIFOptions(colors: 2, isDithered: false)
        try checkFields(of: gif, over: ImageEncoder.GIFOptions())
        for options: ImageEncoder.Options in [.png(png), .webp(webP), .avif(avif), .gif(gif)] {
            try checkFields(of: ImageEncoder(options), over: .jpeg())
        }
        try checkFields(of: ImageEncoder(.jpeg(jpeg)), over: .png())
    }

    @Test func `every property of headers and errors is sent to a worker`() throws {
        var description = icodec_description()
        (description.width, description.height, description.components, description.bit_depth) = (640, 480, 3, 8)
        (description.frames, description.loops, description.milliseconds) = (7, 8, 9)
        (description.has_alpha, description.interlaced, description.is_cmyk) = (true, true, true)
        (description.is_inverted, description.is_gray, description.is_lossless) = (true, true, true)
        (description.fills_canvas, description.says_srgb) = (true, true)
        (description.coefficients, description.coarse_coefficients, description.decoded_bytes) = (10, 11, 12)
        (description.gamma, description.chromaticities) = (0.45, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8))
        // Profile and Exif are copied out of the library's memory.
        let unsent: Set = ["icc", "icc_size", "exif", "exif_size"]
        #expect(equalProperties(of: description, and: icodec_description()).subtracting(unsent) == [])
        var header = ImageHeader(description, .png, fileSize: 99)
        (header.profile, header.exif, header.orientation) = ([1, 2], ExifBlock([9, 9]), .left)
        header.composesFrames = true
        try checkFields(of: header, over: .none, but: ["registered"])
        var error = ImageCodecError(.truncated, format: .gif, offset: 12, "a reason")
        error.isOfProcess = true
        try checkFields(of: error, over: ImageCodecError(.failed, ""))
        for code: ImageCodecError.Code in [
            .unsupportedFormat, .corrupt, .limitExceeded, .outOfMemory, .unreadable, .invalidArgument, .cancelled,
            .crashed, .unavailable,
        ] {
            try checkFields(
                of: ImageCodecError(code, "a reason"), over: ImageCodecError(.failed, ""),
                but: ["format", "offset", "isOfProcess"])
        }
        for format in ImageFormat.allCases where format != .jpeg { try checkFields(of: format, over: .jpeg) }
    }

    private struct Forgetful: WireCodable {
        var (sent, forgotten) = (0, 0)

        mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) { try coder.code(&sent) }
    }

    @Test func `a property that is not sent, or not looked at, is noticed`() {
        for forgotten in 0...1 {
            withKnownIssue {
                var sample = Forgetful()
                (sample.sent, sample.forgotten) = (1, forgotten)
                try checkFields(of: sample, over: Forgetful())
            }
        }
    }
}
