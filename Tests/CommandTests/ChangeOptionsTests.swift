import ArgumentParser
import ImageCache
import ImageEffects
import Testing

@testable import imgcache

@Suite("Options that change pixels")
struct ChangeOptionsTests {
    private func operations(_ arguments: [String]) throws -> ImageOperations {
        try ChangeOptions.parse(arguments).operations
    }

    @Test func `the help of thumb lists every operation, in the order in which they are applied`() {
        let help = ThumbCommand.helpMessage(includeHidden: true, columns: 1000)
        let places = ImageOperations.names.compactMap { help.firstRange(of: "\n  --\($0) ")?.lowerBound }
        #expect(places.count == ImageOperations.names.count && places == places.sorted(), "\(help)")
    }

    @Test func `without options nothing is changed`() throws {
        #expect(try operations([]) == ImageOperations())
        #expect(try operations(["--rotate", "0", "--zoom", "1.0", "--contrast", "1"]) == ImageOperations())
    }

    @Test func `each option of a change is read`() throws {
        var expected = ImageOperations()
        expected.crop = .shares(x: 0.1, y: 0.055, width: 0.8, height: 0.6)
        (expected.trim, expected.rotation, expected.flipsHorizontally, expected.flipsVertically) = (12, 90, true, true)
        (expected.zoom, expected.focalPoint) = (2.5, .focus(x: 0.3, y: 0.75))
        (expected.blur, expected.sharpening, expected.isGray) = (4, 1.5, true)
        (expected.brightness, expected.contrast, expected.saturation) = (0.8, 1.2, 0)
        (expected.watermark, expected.watermarkPosition) = ("logo.png", .at(x: 0.5, y: 0.25))
        (expected.watermarkScale, expected.watermarkOpacity) = (30, 50)
        (expected.padding, expected.radius) = (7, ImageOperations.greatestRadius)
        let read = try operations([
            "--crop", "10x5.5x80x60p", "--trim", "12", "--rotate", "90", "--flip", "hv", "--zoom", "2.5", "--fp",
            "0.3,0.75", "--blur", "4", "--sharpen", "1.5", "--gray", "--brightness", "0.8", "--contrast", "1.2",
            "--saturation", "0", "--watermark", "logo.png", "--wm-position", "0.5x0.25", "--wm-scale", "30",
            "--wm-opacity", "50", "--padding", "7", "--radius", "max",
        ])
        #expect(read == expected)
    }

    @Test(arguments: [
        (
            "--crop=1x2x3",
            "--crop must be 10x20x300x200 (left, top, width, height in pixels), or 10x5x80x60p (percent)."
        ),
        ("--trim=256", "--trim must be an integer from 0 to 255."),
        ("--rotate=45", "--rotate must be 0, 90, 180 or 270."), ("--flip=x", "--flip must be h, v or hv."),
        ("--zoom=0.5", "--zoom must be a number from 1 to 10."),
        ("--fp=0.3", "--fp must be a point such as 0.5,0.2, from the upper left 0,0 to 1,1."),
        ("--blur=251", "--blur must be an integer from 1 to 250."),
        ("--sharpen=10.1", "--sharpen must be a number from 0 to 10."),
        ("--brightness=1e3", "--brightness must be a number from 0 to 10."),
        ("--contrast=-1", "--contrast must be a number from 0 to 10."),
        ("--saturation=x", "--saturation must be a number from 0 to 10."),
        (
            "--wm-position=auto",
            "--wm-position must be center, a side, a corner such as top-left, or 0.5x0.5."
        ),
        ("--wm-scale=0", "--wm-scale must be an integer from 1 to 100."),
        ("--wm-opacity=101", "--wm-opacity must be an integer from 0 to 100."),
        ("--padding=1001", "--padding must be an integer from 0 to 1000."),
        ("--radius=4097", "--radius must be an integer from 0 to 4096."),
    ])
    func `a value out of range is refused by the option's name`(argument: String, sentence: String) {
        let error = #expect(throws: ValidationError.self) { try operations([argument]) }
        #expect(error?.message == sentence)
    }

    @Test func `a focal point needs a shape or a zoom that uses it`() throws {
        let line = ["a.jpg", "-o", "b.jpg", "--fp", "0.5,0.2"]
        #expect(throws: (any Error).self) { try ThumbCommand.parse(line) }
        for option in [["--fit", "cover"], ["--zoom", "2"]] { _ = try ThumbCommand.parse(line + option) }
        let sizing = try ThumbCommand.parse(line + ["--fit", "cover", "--position", "top"]).sizing
        #expect(sizing.sizing(around: .focus(x: 0.5, y: 0.2)).position == .focus(x: 0.5, y: 0.2))
        #expect(sizing.sizing(around: nil).position == .top)
    }

    @Test func `a position and a background without effect on the size make no other image`() throws {
        let plain = try SizingOptions.parse([]).sizing(around: nil)
        #expect(try SizingOptions.parse(["--position", "top", "--background", "fff"]).sizing(around: nil) == plain)
        let contained = try SizingOptions.parse(["--fit", "contain", "--background", "fff"]).sizing(around: nil)
        #expect(contained.background == .white)
    }

    @Test(arguments: [
        ("Top-Left", ImageSizing.Position.topLeft), ("attention", .attention), ("auto", .attention),
        ("30%,70%", .at(x: 0.3, y: 0.7)), ("0.3x0.7", .at(x: 0.3, y: 0.7)),
    ])
    func `a position is a name or two shares`(text: String, position: ImageSizing.Position) {
        #expect(SizingOptions.Position(argument: text)?.value == position)
    }
}
