internal import Glibc
public import ImageCodec

extension DecodedImage {
    /// The image with another one on it, whose upper left is at x, y; parts beyond the edges are cut off.
    ///
    /// - Parameter opacity: 0 to 1, a factor of the other image's own.
    /// - Throws: `invalidArgument` for an opacity that is not a number, `outOfMemory`, and the errors of `budget`.
    public func overlaid(
        with other: DecodedImage, x: Int, y: Int, opacity: Double = 1, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard opacity.isFinite else { throw ImageCodecError(.invalidArgument, "the opacity is no number") }
        try budget.check(memory: cost * 2 + other.cost)
        let result = try copiedPixels(within: budget)
        // Farther away, the other image is as much outside, and sums of positions would overflow.
        let (x, y) = (min(max(x, -other.width), width), min(max(y, -other.height), height))
        let columns = max(0, -x)..<max(max(0, -x), min(other.width, width - x))
        let rows = max(0, -y)..<max(max(0, -y), min(other.height, height - y))
        let share = Int((min(max(opacity, 0), 1) * 256).rounded())
        try budget.eachRow(rows.count, max(1, columns.count)) { index in
            let row = rows.lowerBound + index
            for column in columns {
                Self.mix(
                    other.pixels.bytes + row * other.bytesPerRow + column * 4,
                    onto: result.bytes + (y + row) * bytesPerRow + (x + column) * 4, share)
            }
        }
        return replacing(result, width: width, height: height)
    }

    /// A copy of the pixels, to be changed.
    func copiedPixels(within budget: ImageBudget) throws(ImageCodecError) -> PixelBuffer {
        let copy = try PixelBuffer(byteCount: cost)
        try budget.eachRow(height, width) { row in
            memcpy(copy.bytes + row * bytesPerRow, pixels.bytes + row * bytesPerRow, bytesPerRow)
        }
        return copy
    }

    /// Composites one pixel over another, both with straight alpha.
    private static func mix(_ over: UnsafePointer<UInt8>, onto under: UnsafeMutablePointer<UInt8>, _ share: Int) {
        // In 255 · 256: the greatest alpha of the pixel above.
        let above = Int(over[3]) * share
        guard above > 0 else { return }
        let below = Int(under[3]) * (255 * 256 - above) / 255
        let alpha = above + below
        for channel in 0..<3 {
            under[channel] = UInt8(
                clamping: (Int(over[channel]) * above + Int(under[channel]) * below + alpha / 2) / alpha)
        }
        under[3] = UInt8(clamping: (alpha + 128) / 256)
    }
}
