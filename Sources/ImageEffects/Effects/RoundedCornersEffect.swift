internal import Glibc
public import ImageCodec

extension ImageProcessor {
    /// Makes the corners transparent.
    ///
    /// - Parameter radius: The radius in pixels of the image at this step.
    public static func roundedCorners(radius: Double) -> ImageProcessor {
        ImageProcessor(builtIn: RoundedCornersEffect(radius: radius))
    }
}

struct RoundedCornersEffect: BuiltInEffect {
    var radius = 0.0

    var identity: String { "corners(\(radius))" }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.roundingCorners(radius: radius, within: budget)
    }

    func add(to footprint: inout RenderingFootprint) {
        footprint.addCopies(1, withAlpha: true)
    }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&radius)
    }
}

extension DecodedImage {
    /// The image with circular, anti-aliased rounded corners; the area outside is transparent.
    ///
    /// - Parameter radius: In pixels; more than half of the shorter side counts as half of it.
    /// - Throws: `invalidArgument` for a radius below 0, `outOfMemory`, and the errors of `budget`.
    public func roundingCorners(
        radius: Double, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard radius >= 0 else { throw ImageCodecError(.invalidArgument, "a radius of \(radius) pixels") }
        let radius = min(radius, Double(min(width, height)) / 2)
        guard radius > 0 else { return self }
        try budget.check(memory: cost * 2)
        let round = try copiedPixels(within: budget)
        let reach = Int(radius.rounded(.up))
        try budget.eachRow(reach, reach * 8) { y in cutCorners(of: round, row: y, radius: radius) }
        return replacing(round, width: width, height: height, mayHaveAlpha: true)
    }

    /// The coverage of four circles in the row `y` from the top, and in the same row from the bottom.
    private func cutCorners(of round: PixelBuffer, row y: Int, radius: Double) {
        guard Double(y) < radius else { return }
        var x = 0
        while Double(x) < radius {
            // The share of the pixel within the circle, by the distance of its centre.
            let distance = hypot(radius - Double(x) - 0.5, radius - Double(y) - 0.5)
            let share = min(max(radius - distance + 0.5, 0), 1)
            if share == 1 { return }
            // On a very small image two corners share a row, which counts once.
            for row in y == height - 1 - y ? [y] : [y, height - 1 - y] {
                for column in x == width - 1 - x ? [x] : [x, width - 1 - x] {
                    let alpha = round.bytes + (row * width + column) * 4 + 3
                    alpha.pointee = UInt8((Double(alpha.pointee) * share).rounded())
                    if alpha.pointee == 0 { memset(alpha - 3, 0, 3) }
                }
            }
            x += 1
        }
    }
}
