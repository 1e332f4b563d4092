/// A part of an image. It is clipped to the image, and contains at least one pixel. A part outside of the image is an error.
public enum ImageRegion: Sendable, Hashable {
    /// In pixels from the upper left.
    case pixels(x: Int, y: Int, width: Int, height: Int)
    /// In shares of the image's width and height, 0 to 1.
    case shares(x: Double, y: Double, width: Double, height: Double)

    /// True if no pixel of an image of some size is in the part.
    func isOutside(width: Int, height: Int) -> Bool {
        switch self {
        case .pixels(let x, let y, _, _): x >= width || y >= height
        case .shares(let x, let y, _, _): x >= 1 || y >= 1
        }
    }

    /// The part of an image of some size.
    package func bounds(width: Int, height: Int) -> (x: Range<Int>, y: Range<Int>) {
        switch self {
        case .pixels(let x, let y, let partWidth, let partHeight):
            (Self.range(x, partWidth, width), Self.range(y, partHeight, height))
        case .shares(let x, let y, let partWidth, let partHeight):
            (Self.range(x, partWidth, width), Self.range(y, partHeight, height))
        }
    }

    private static func range(_ start: Int, _ length: Int, _ whole: Int) -> Range<Int> {
        let start = min(max(start, 0), whole - 1)
        return start..<start + min(max(length, 1), whole - start)
    }

    private static func range(_ start: Double, _ length: Double, _ whole: Int) -> Range<Int> {
        func pixel(_ share: Double) -> Int { share > 0 ? Int((min(share, 1) * Double(whole)).rounded()) : 0 }
        let first = pixel(start)
        return range(first, pixel(start + length) - first, whole)
    }
}

extension ImageRegion {
    /// A text that identifies the part. Shares have a decimal point, pixels have none.
    package var recipe: String {
        switch self {
        case .pixels(let x, let y, let width, let height): "\(x),\(y),\(width)x\(height)"
        case .shares(let x, let y, let width, let height): "\(x),\(y),\(width)x\(height)"
        }
    }
}
