/// The geometry of a sizing for one image: the scaled size, the part that is kept, and the canvas.
struct ResizePlan {
    struct Size: Equatable {
        var width: Int
        var height: Int
    }

    struct Rectangle: Equatable {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
    }

    var scaled: Size
    /// The kept part of the scaled image.
    var window: Rectangle
    /// A larger image around the window, and the window's position in it.
    var canvas: (size: Size, x: Int, y: Int)?
    /// The size of the part that is selected by content after scaling.
    var cut: Size?
    /// The colour behind the image, with or without a canvas; nil: transparent pixels stay so.
    var background: ImageSizing.Color?
}

extension ResizePlan {
    /// Keeps the image unchanged.
    init(keeping size: Size) {
        scaled = size
        window = Rectangle(x: 0, y: 0, width: size.width, height: size.height)
    }

    /// - Throws: `invalidArgument` for a box without sides or below one pixel.
    init(_ sizing: ImageSizing, of image: Size) throws(ImageCodecError) {
        let box = try Self.box(sizing, of: image)
        let across = box.width / Double(image.width)
        let down = box.height / Double(image.height)
        func bounded(_ scale: Double) -> Double { sizing.allowsEnlargement ? scale : min(scale, 1) }
        let whole = Size(width: Self.rounded(box.width), height: Self.rounded(box.height))
        let scale: (x: Double, y: Double) =
            switch sizing.fit {
            case .fill: (bounded(across), bounded(down))
            case .contain, .inside: (bounded(min(across, down)), bounded(min(across, down)))
            case .cover, .outside: (bounded(max(across, down)), bounded(max(across, down)))
            }
        scaled = Size(
            width: Self.side(image.width, scale.x, box.width), height: Self.side(image.height, scale.y, box.height))
        window = Rectangle(x: 0, y: 0, width: scaled.width, height: scaled.height)
        let place = sizing.position.shares
        func start(_ whole: Int, _ part: Int, _ share: Double) -> Int {
            guard case .focus = sizing.position else { return Int((Double(whole - part) * share).rounded()) }
            return min(max(Int((Double(whole) * share - Double(part) / 2).rounded()), 0), whole - part)
        }
        if sizing.fit == .cover {
            let part = Size(width: min(whole.width, scaled.width), height: min(whole.height, scaled.height))
            if part != scaled, sizing.position == .entropy || sizing.position == .attention {
                cut = part
            } else {
                window = Rectangle(
                    x: start(scaled.width, part.width, place.x), y: start(scaled.height, part.height, place.y),
                    width: part.width, height: part.height)
            }
        }
        if sizing.fit == .contain {
            background = sizing.background
            if whole != scaled {
                canvas = (
                    whole, Int((Double(whole.width - scaled.width) * place.x).rounded()),
                    Int((Double(whole.height - scaled.height) * place.y).rounded())
                )
            }
        }
    }

    private static func rounded(_ side: Double) -> Int { max(1, Int(side.rounded())) }

    /// A side of the scaled image. It is the rounded box where the image fills the box: the product may differ from the box in its last
    /// digits, and would be rounded to another number.
    private static func side(_ length: Int, _ scale: Double, _ box: Double) -> Int {
        let side = Double(length) * scale
        return rounded(abs(side - box) <= box * 1e-12 ? box : side)
    }

    /// The box in image pixels, with a missing side calculated.
    private static func box(
        _ sizing: ImageSizing, of image: Size
    ) throws(ImageCodecError) -> (width: Double, height: Double) {
        let ratio = sizing.devicePixelRatio
        guard ratio > 0, ratio <= 100 else {
            throw ImageCodecError(.invalidArgument, "a device pixel ratio of \(ratio)")
        }
        let proportion = Double(image.width) / Double(image.height)
        let sides = [sizing.width, sizing.height].compactMap { $0 }
        if sides.allSatisfy({ $0 > 0 && $0 <= 1 << 24 }) {
            switch (sizing.width, sizing.height) {
            case (let width?, let height?): return (Double(width) * ratio, Double(height) * ratio)
            case (let width?, nil): return (Double(width) * ratio, Double(width) * ratio / proportion)
            case (nil, let height?): return (Double(height) * ratio * proportion, Double(height) * ratio)
            case (nil, nil): break
            }
        }
        throw ImageCodecError(
            .invalidArgument,
            "a box of \(sizing.width.map { "\($0)" } ?? "auto") x \(sizing.height.map { "\($0)" } ?? "auto") pixels")
    }

    /// The size of the result.
    var result: Size { canvas?.size ?? cut ?? Size(width: window.width, height: window.height) }

    /// Checks the images that are made: the kept part of the scaled image and the result. The rest of the scaled image is never made.
    ///
    /// - Throws: `limitExceeded` if one of them is too large.
    func check(by limits: DecodingLimits, format: ImageFormat?) throws(ImageCodecError) {
        for made in [Size(width: window.width, height: window.height), result] {
            try limits.check(made, format: format)
        }
        guard max(scaled.width, scaled.height) <= Int(Int32.max) else {
            throw ImageCodecError(
                .limitExceeded, format: format, "an enlargement to \(scaled.width) x \(scaled.height) pixels")
        }
    }

    /// The scaled size and the window for the stored image, before it is rotated by `orientation`.
    func stored(_ orientation: ImageOrientation) -> (scaled: Size, window: Rectangle) {
        var size = scaled
        var part = window
        let (x, y) = (window.x, window.y)
        let right = scaled.width - window.x - window.width
        let below = scaled.height - window.y - window.height
        switch orientation {
        case .up: break
        case .upMirrored: part.x = right
        case .down: (part.x, part.y) = (right, below)
        case .downMirrored: part.y = below
        case .leftMirrored: (part.x, part.y) = (y, x)
        case .right: (part.x, part.y) = (y, right)
        case .rightMirrored: (part.x, part.y) = (below, right)
        case .left: (part.x, part.y) = (below, x)
        }
        if orientation.swapsSides {
            swap(&size.width, &size.height)
            swap(&part.width, &part.height)
        }
        return (size, part)
    }
}

extension ImageSizing.Position {
    package var shares: (x: Double, y: Double) {
        switch self {
        case .center, .entropy, .attention: (0.5, 0.5)
        case .top: (0.5, 0)
        case .bottom: (0.5, 1)
        case .left: (0, 0.5)
        case .right: (1, 0.5)
        case .topLeft: (0, 0)
        case .topRight: (1, 0)
        case .bottomLeft: (0, 1)
        case .bottomRight: (1, 1)
        case .at(let x, let y), .focus(let x, let y):
            (x.isFinite ? min(max(x, 0), 1) : 0.5, y.isFinite ? min(max(y, 0), 1) : 0.5)
        }
    }
}
