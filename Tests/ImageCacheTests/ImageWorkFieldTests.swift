import ImageCodec
import ImageEffects
import TestSupport
import Testing
import WorkerProcesses

@testable import ImageCache

/// No property of a worker's request is forgotten on its way (`checkFields`).
struct ImageWorkFieldTests {
    private let job = ImageWorkRequest.Job(
        sizing: .fit(1, 2), steps: RenderSteps(processors: [.grayscale, .trim(tolerance: 3)], output: .description),
        spent: 6)

    private var rendering: ImageWorkRequest.Rendering {
        var rendering = ImageWorkRequest.Rendering()
        rendering.source = .rows(.eighths(2))
        rendering.header = .some(Self.header)
        (rendering.collectsRows, rendering.animationEncoder, rendering.jobs) = (true, .webp(), [job, job])
        return rendering
    }

    private var frames: ImageWorkRequest.Frames {
        var frames = ImageWorkRequest.Frames()
        (frames.session, frames.byteCount, frames.job) = (1, 2, job)
        (frames.first, frames.count, frames.spent) = (3, 4, 5)
        return frames
    }

    private static let header: ImageHeader = {
        let image = try? DecodedImage(width: 3, height: 2) { _ in }
        let file = image.flatMap { try? ImageEncoder.png().encode($0) } ?? []
        return (try? ImageDecoder().header(of: ImageSource(file))) ?? ImageHeader.none
    }()

    @Test func `every property of a request reaches the image worker`() throws {
        var decoder = ImageDecoder()
        decoder.frame = 3
        try checkFields(of: job, over: ImageWorkRequest.Job())
        try checkFields(of: rendering, over: ImageWorkRequest.Rendering())
        try checkFields(of: frames, over: ImageWorkRequest.Frames())
        let preview = ImageWorkRequest.Preview(session: 1, byteCount: 2, job: job)
        try checkFields(of: preview, over: ImageWorkRequest.Preview())
        for work: ImageWorkRequest.Work in [
            .header(byteCount: 9), .render(rendering), .frames(frames), .preview(preview), .closeMessage,
        ] {
            try checkFields(of: ImageWorkRequest(decoder: decoder, work: work), over: ImageWorkRequest())
        }
        try checkFields(of: ImageWorkRequest.Source.file(byteCount: 7), over: .rows(.whole))
    }

    @Test(arguments: [Double.nan, .infinity, -1, 1e30])
    func `impossible durations in a worker's result are refused`(time: Double) throws {
        let real = 0.123_456_789
        for place in 0..<3 {
            var rendered = RenderedContent(content: .encoded([1], .png, width: 1, height: 1), damage: nil)
            (rendered.decodeTime, rendered.processTime, rendered.encodeTime) = (0.5, 0.25, 0.125)
            switch place {
            case 0: rendered.decodeTime = real
            case 1: rendered.processTime = real
            default: rendered.encodeTime = real
            }
            let message = try ImageWorkAnswer.image(job: 0, .success(rendered)).message()
            _ = try ImageWorkAnswer(message)
            let start = try #require(message.bytes.firstRange(of: Self.bytes(of: real)))
            let forged = WorkerMessage(
                message.bytes[..<start.lowerBound] + Self.bytes(of: time) + message.bytes[start.upperBound...])
            #expect(throws: WireCoder.Malformed.self) { try ImageWorkAnswer(forged) }
        }
    }

    private static func bytes(of number: Double) -> [UInt8] {
        withUnsafeBytes(of: number.bitPattern.littleEndian) { Array($0) }
    }

    @Test func `every property of an output form reaches the image worker`() throws {
        for output: ImageRecipe.Output in [
            .description, .encoded(.png(level: 1)), .likeOriginal(ImageEncoder.JPEGOptions(quality: 3)),
            .avifIfLarge(ImageEncoder.AVIFOptions(quality: 4), else: ImageEncoder.WebPOptions(quality: 5)),
        ] {
            try checkFields(of: output, over: .pixels)
        }
        try checkFields(of: ImageRecipe.Output.pixels, over: .description)
        try checkFields(
            of: PlaceholderEncoding(placeholder: .blurHash, isJSON: true),
            over: PlaceholderEncoding(placeholder: .thumbHash, isJSON: false))
        for placeholder in Placeholder.allCases {
            let output = ThumbnailEncoding.placeholder(placeholder, asJSON: true).output
            #expect(output.canBeSent)
            try checkFields(of: output, over: .pixels)
        }
    }

    @Test func `a worker's result must have the requested form`() throws {
        func bytes(_ format: ImageFormat) -> DerivedImage.Content { .encoded([], format, width: 1, height: 1) }
        let pixels = DerivedImage.Content.pixels(try DecodedImage(width: 1, height: 1) { _ in })
        let like = ImageRecipe.Output.likeOriginal(ImageEncoder.JPEGOptions())
        let placeholder = ThumbnailEncoding.placeholder(.blurHash).output
        #expect(ImageRecipe.Output.pixels.allows(pixels) && !ImageRecipe.Output.pixels.allows(bytes(.png)))
        #expect(like.allows(bytes(.jpeg)) && like.allows(bytes(.png)) && !like.allows(pixels))
        for format in [ImageFormat.svg, .json, .plainText, .webp] { #expect(!like.allows(bytes(format)), "\(format)") }
        #expect(like.allows(bytes(.webp), animationEncoder: .webp()))
        #expect(placeholder.allows(bytes(.plainText)) && !placeholder.allows(bytes(.svg)))
        let description = ImageRecipe.Output.description
        #expect(description.allows(bytes(.json)) && !description.allows(bytes(.plainText)))
    }
}
