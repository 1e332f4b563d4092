import Testing

@testable import ImageCodec

@Suite struct SizingTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var image: (Int, Int)
        var sizing: ImageSizing
        var result: (Int, Int)
        var scaled: (Int, Int)
        var at: (Int, Int) = (0, 0)

        var testDescription: String { "\(image) \(sizing.fit) \(sizing.width ?? 0)x\(sizing.height ?? 0)" }
    }

    private static func box(
        _ width: Int?, _ height: Int?, _ fit: ImageSizing.Fit, enlarging: Bool = false, dpr: Double = 1,
        position: ImageSizing.Position = .center
    ) -> ImageSizing {
        var sizing = ImageSizing(width: width, height: height, fit: fit)
        sizing.allowsEnlargement = enlarging
        sizing.devicePixelRatio = dpr
        sizing.position = position
        return sizing
    }

    static let cases: [Case] = [
        Case(image: (400, 300), sizing: box(200, 200, .inside), result: (200, 150), scaled: (200, 150)),
        Case(image: (400, 300), sizing: box(200, 200, .outside), result: (267, 200), scaled: (267, 200)),
        Case(image: (400, 300), sizing: box(200, 200, .fill), result: (200, 200), scaled: (200, 200)),
        Case(image: (400, 300), sizing: box(200, 200, .contain), result: (200, 200), scaled: (200, 150), at: (0, 25)),
        Case(image: (400, 300), sizing: box(200, 200, .cover), result: (200, 200), scaled: (267, 200), at: (34, 0)),
        Case(
            image: (400, 300), sizing: box(200, 200, .cover, position: .left), result: (200, 200), scaled: (267, 200)),
        Case(
            image: (400, 300), sizing: box(200, 200, .cover, position: .at(x: 1, y: 0)), result: (200, 200),
            scaled: (267, 200), at: (67, 0)),
        Case(image: (400, 300), sizing: box(100, nil, .inside), result: (100, 75), scaled: (100, 75)),
        Case(image: (400, 300), sizing: box(nil, 30, .cover), result: (40, 30), scaled: (40, 30)),
        Case(image: (400, 300), sizing: box(100, 100, .inside, dpr: 2), result: (200, 150), scaled: (200, 150)),
        // Nothing is enlarged unless that is asked for.
        Case(image: (40, 30), sizing: box(200, 200, .inside), result: (40, 30), scaled: (40, 30)),
        Case(image: (40, 30), sizing: box(200, 200, .inside, enlarging: true), result: (200, 150), scaled: (200, 150)),
        Case(image: (40, 30), sizing: box(20, 90, .fill), result: (20, 30), scaled: (20, 30)),
        Case(image: (40, 30), sizing: box(20, 90, .cover), result: (20, 30), scaled: (40, 30), at: (10, 0)),
        Case(image: (40, 30), sizing: box(60, 60, .contain), result: (60, 60), scaled: (40, 30), at: (10, 15)),
        // At least one pixel is left.
        Case(image: (3000, 1), sizing: box(100, 100, .inside), result: (100, 1), scaled: (100, 1)),
    ]

    @Test(arguments: [(2000, 20), (20, 2000), (60_000, 1)])
    func `a box that covers a sliver is filled from its middle, however wide the whole would be`(
        width: Int, height: Int
    ) throws {
        let image = try DecodedImage.plain(width, height, [9, 8, 7, 255]).resized(
            to: Self.box(1000, 1000, .cover, enlarging: true), within: ImageBudget(limits: DecodingLimits()))
        #expect(image.width == 1000 && image.height == 1000)
    }

    @Test(arguments: cases)
    func `a box and a fit determine a size and a position`(_ test: Case) throws {
        let plan = try ResizePlan(test.sizing, of: .init(width: test.image.0, height: test.image.1))
        #expect(plan.result == .init(width: test.result.0, height: test.result.1))
        #expect(plan.scaled == .init(width: test.scaled.0, height: test.scaled.1))
        let place = plan.canvas.map { ($0.x, $0.y) } ?? (plan.window.x, plan.window.y)
        #expect(place == test.at)
        let image = try DecodedImage.plain(test.image.0, test.image.1, [9, 8, 7, 255]).resized(to: test.sizing)
        #expect(image.width == test.result.0 && image.height == test.result.1)
    }

    /// Among them 50 × 1.15, which is 57.5 less its last digit, while 1750 × (50 × 1.15 / 1750) is 57.5.
    @Test func `a scaled image lies in its canvas, and its kept part in the scaled image, at each ratio`() throws {
        let positions: [ImageSizing.Position] = [.center, .topLeft, .at(x: 0.3, y: 0.8), .focus(x: 1, y: 0.4)]
        let boxes: [(Int?, Int?)] = [(50, 50), (101, 101), (333, 77), (50, nil), (nil, 50), (101, nil), (nil, 3)]
        var wrong: [String] = []
        for (width, height) in [(1750, 1750), (1750, 1312), (303, 404), (999, 7)] {
            for (across, down) in boxes {
                for fit in ImageSizing.Fit.allCases {
                    for hundredths in 50...300 {
                        let position = positions[hundredths % positions.count]
                        for isEnlarging in [false, true] {
                            let sizing = Self.box(
                                across, down, fit, enlarging: isEnlarging, dpr: Double(hundredths) / 100,
                                position: position)
                            let plan = try ResizePlan(sizing, of: .init(width: width, height: height))
                            if !Self.isInside(plan) || isEnlarging && !Self.fills(plan, sizing) {
                                wrong.append("\(width)x\(height): \(sizing.recipe): \(plan)")
                            }
                        }
                    }
                }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count), as \(wrong.first ?? "")")
    }

    private static func isInside(_ plan: ResizePlan) -> Bool {
        let (scaled, window) = (plan.scaled, plan.window)
        guard window.x >= 0, window.y >= 0, window.width > 0, window.height > 0,
            window.x + window.width <= scaled.width, window.y + window.height <= scaled.height
        else { return false }
        guard let canvas = plan.canvas else { return true }
        return canvas.x >= 0 && canvas.y >= 0 && canvas.x + window.width <= canvas.size.width
            && canvas.y + window.height <= canvas.size.height
    }

    /// True if an image that may be enlarged has the sides of the box that its fit gives it.
    private static func fills(_ plan: ResizePlan, _ sizing: ImageSizing) -> Bool {
        func side(_ side: Int?) -> Int? { side.map { Int((Double($0) * sizing.devicePixelRatio).rounded()) } }
        let isAcross = side(sizing.width).map { $0 == plan.scaled.width }
        let isDown = side(sizing.height).map { $0 == plan.scaled.height }
        let areEqual = [isAcross, isDown].compactMap { $0 }
        guard areEqual.count == 2 else { return areEqual == [true] && (plan.canvas == nil) }
        switch sizing.fit {
        case .fill: return areEqual == [true, true]
        case .contain, .inside, .outside: return areEqual.contains(true)
        case .cover:
            return plan.result.width == side(sizing.width) && plan.result.height == side(sizing.height)
        }
    }

    /// For both sides the product of the side and the scale is 57.5, and the box is 57.5 less its last digit.
    @Test(arguments: [41, 82], [ImageSizing.Position.topLeft, .center, .bottomRight])
    func `an image of the canvas's proportions covers all of the canvas`(
        side: Int, position: ImageSizing.Position
    ) throws {
        let image = try DecodedImage.plain(side, side, [9, 8, 7, 255])
        let boxes: [(Int?, Int?)] = [(50, 50), (50, nil), (nil, 50)]
        for (width, height) in boxes {
            let sizing = Self.box(width, height, .contain, enlarging: true, dpr: 1.15, position: position)
            let result = try image.resized(to: sizing)
            #expect(result.width == 57 && result.height == 57 && result.isOpaque)
        }
    }

    @Test(arguments: [(-1, 0), (0, -1), (3, 0), (0, 3), (Int.max, 0), (0, Int.min)])
    func `an image is not written beyond a canvas`(x: Int, y: Int) throws {
        let image = try DecodedImage.plain(3, 3, [9, 8, 7, 255])
        let size = ResizePlan.Size(width: 5, height: 5)
        #expect(try image.placed(on: size, x: 2, y: 2, background: nil, within: .unlimited)[2, 2] == [9, 8, 7, 255])
        let error = #expect(throws: ImageCodecError.self) {
            try image.placed(on: size, x: x, y: y, background: nil, within: .unlimited)
        }
        #expect(error?.code == .failed)
        let small = ResizePlan.Size(width: 2, height: 5)
        #expect(throws: ImageCodecError.self) {
            try image.placed(on: small, x: 0, y: 0, background: nil, within: .unlimited)
        }
    }

    @Test func `a box without sides, below one pixel or with a senseless ratio is an error`() {
        for sizing in [
            Self.box(nil, nil, .inside), Self.box(0, 5, .inside), Self.box(5, -1, .fill), Self.box(5, 5, .fill, dpr: 0),
            Self.box(5, 5, .fill, dpr: .nan), Self.box(.max, 1, .fill, enlarging: true),
        ] {
            let error = #expect(throws: ImageCodecError.self) {
                try ResizePlan(sizing, of: .init(width: 10, height: 10))
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func `entropy and attention crop to the part with detail`() throws {
        // Plain, but for a coloured pattern at the right.
        let image = try DecodedImage(width: 120, height: 40) { pixels in
            for y in 0..<40 {
                for x in 0..<120 {
                    let isBusy = x >= 80 && (x / 3 + y / 3) % 2 == 0
                    let pixel: [UInt8] = isBusy ? [UInt8(200 + x % 50), UInt8(y * 3), 40, 255] : [90, 90, 90, 255]
                    for channel in 0..<4 { pixels[(y * 120 + x) * 4 + channel] = pixel[channel] }
                }
            }
        }
        for position in [ImageSizing.Position.entropy, .attention] {
            let part = try image.resized(to: .cover(40, 40, position: position))
            #expect(part.width == 40 && part.height == 40)
            #expect(part.meanDifference(from: try image.cropped(x: 80, y: 0, width: 40, height: 40)) < 12)
        }
    }

    /// The edges of the image are not next to each other.
    @Test func `a plain gradient is cropped in the middle by attention`() throws {
        let image = try DecodedImage(width: 120, height: 40) { pixels in
            for index in 0..<120 * 40 {
                for channel in 0..<3 { pixels[index * 4 + channel] = UInt8(index % 120 * 2) }
                pixels[index * 4 + 3] = 255
            }
        }
        let part = try image.resized(to: .cover(40, 40, position: .attention))
        #expect(part.meanDifference(from: try image.cropped(x: 40, y: 0, width: 40, height: 40)) == 0)
    }

    @Test func `the area that contain leaves free is transparent, or has the background colour`() throws {
        let image = try DecodedImage.plain(40, 20, [1, 2, 3, 255])
        var sizing = ImageSizing(width: 40, height: 40, fit: .contain)
        let clear = try image.resized(to: sizing)
        #expect(clear[0, 0] == [0, 0, 0, 0] && clear[0, 10] == [1, 2, 3, 255] && !clear.isOpaque)
        sizing.background = .white
        let white = try image.resized(to: sizing)
        #expect(white[0, 0] == [255, 255, 255, 255] && white[39, 29] == [1, 2, 3, 255] && white.isOpaque)
    }

    @Test(arguments: [(40, 20), (20, 10), (80, 40), (40, 40), (30, 10), (90, 80)])
    func `the background of contain is also under transparent pixels, with a free area or without`(
        width: Int, height: Int
    ) throws {
        let image = try DecodedImage.plain(40, 20, [0, 0, 0, 0])
        let source = ImageSource(try ImageEncoder.png().encode(image))
        let header = try ImageDecoder().header(of: source)
        for isEnlarging in [false, true] {
            var sizing = Self.box(width, height, .contain, enlarging: isEnlarging)
            for background in [nil, ImageSizing.Color.white] {
                sizing.background = background
                let expected: SIMD4<UInt8> = background == nil ? [0, 0, 0, 0] : [255, 255, 255, 255]
                for result in [try image.resized(to: sizing), try ImageDecoder().decode(source, to: sizing)] {
                    #expect(result.width == width && result.height == height)
                    #expect(result[0, 0] == expected && result[width / 2, height / 2] == expected)
                    #expect(result.isOpaque == (background != nil))
                }
                guard background != nil else { continue }
                let target = try ImageDecoder().target(sizing, of: header)
                let window = target.plan.window
                #expect(target.memory >= (window.width * window.height + width * height) * 4)
            }
        }
    }

    @Test(arguments: [
        (0.5, 0.5, 50, 0), (0.0, 0.0, 0, 0), (1.0, 1.0, 100, 0), (0.3, 0.9, 10, 0), (0.25, 0.5, 0, 0),
        (0.6, 0.5, 70, 0),
    ])
    func `a focal point is in the middle of the crop, as far as the edges allow`(
        x: Double, y: Double, left: Int, top: Int
    )
        throws
    {
        let plan = try ResizePlan(.cover(100, 100, position: .focus(x: x, y: y)), of: .init(width: 200, height: 100))
        #expect((plan.window.x, plan.window.y) == (left, top))
        #expect((plan.window.width, plan.window.height) == (100, 100))
    }
}

extension DecodedImage {
    /// One colour.
    static func plain(_ width: Int, _ height: Int, _ pixel: SIMD4<UInt8>) throws -> DecodedImage {
        try DecodedImage(width: width, height: height) { pixels in
            for index in 0..<pixels.count { pixels[index] = pixel[index % 4] }
        }
    }
}
