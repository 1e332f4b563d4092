/// A part of an image. It is clipped to the image, and contains at least one pixel. A part outside of the image is an error.
public enum ImageRegion: Sendable, Hashable {
    /// In pixels from the upper left.
    case pixels(x: Int, y: Int, width: Int, height: Int)
    /// In shares of the image's width and height, 0 to 1.
    case shares(x: Double, y: Double, width: Double, height: Double)

    /// True if no pixel of an image of some size is in the part.
    func isOutside(width: Int, height: Int) -> Bool {
        switch self {
        case .pixels(let x, let y, let partWidth, let partHeight):
            x >= width || y >= height || Self.end(x, partWidth) <= 0 || Self.end(y, partHeight) <= 0
        case .shares(let x, let y, let partWidth, let partHeight):
            x >= 1 || y >= 1 || Self.endsBefore(x, partWidth) || Self.endsBefore(y, partHeight)
        }
    }

    /// The end of a part, which has at least one pixel.
    private static func end(_ start: Int, _ length: Int) -> Int {
        let (end, isTooLarge) = start.addingReportingOverflow(max(length, 1))
        return isTooLarge ? .max : end
    }

    /// True if a part ends before the image begins.
    private static func endsBefore(_ start: Double, _ length: Double) -> Bool {
        start < 0 && start + max(length, 0) <= 0
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
        let first = min(max(start, 0), whole - 1)
        return first..<min(max(end(start, length), first + 1), whole)
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
