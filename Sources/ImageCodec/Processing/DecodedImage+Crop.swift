internal import CImageCodec
internal import Glibc

extension DecodedImage {
    /// A part of the image, in pixels from the upper left.
    ///
    /// - Throws: `invalidArgument` if the part is empty or exceeds the image, `outOfMemory`, and the errors of
    ///   `budget`.
    public func cropped(
        x: Int, y: Int, width: Int, height: Int, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard x >= 0, y >= 0, width > 0, height > 0, x <= self.width - width, y <= self.height - height else {
            throw ImageCodecError(
                .invalidArgument,
                "a part of \(width) x \(height) at \(x), \(y) of an image of \(self.width) x \(self.height)")
        }
        if width == self.width, height == self.height { return self }
        try budget.check(memory: cost + width * height * 4)
        let part = try PixelBuffer(byteCount: width * height * 4)
        try budget.eachRow(height, width) { row in
            memcpy(part.bytes + row * width * 4, pixels.bytes + (y + row) * bytesPerRow + x * 4, width * 4)
        }
        return replacing(part, width: width, height: height)
    }

    /// A part of the image, as far as the image reaches.
    ///
    /// - Throws: `invalidArgument` for a part outside of the image, `outOfMemory`, and the errors of `budget`.
    public func cropped(
        to region: ImageRegion, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard !region.isOutside(width: width, height: height) else {
            throw ImageCodecError(
                .invalidArgument, "a part (\(region.recipe)) outside of an image of \(width) x \(height)")
        }
        let (x, y) = region.bounds(width: width, height: height)
        return try cropped(x: x.lowerBound, y: y.lowerBound, width: x.count, height: y.count, within: budget)
    }

    /// The image with a border on all sides.
    ///
    /// - Parameters:
    ///   - padding: The width of the border in pixels.
    ///   - color: The colour of the border and under transparent pixels; nil: transparent.
    /// - Throws: `invalidArgument` for a padding below 0 or above 32,767, `outOfMemory`, and the errors of `budget`.
    public func padded(
        by padding: Int, color: ImageSizing.Color? = nil, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard (0...32_767).contains(padding) else {
            throw ImageCodecError(.invalidArgument, "a padding of \(padding) pixels")
        }
        guard padding > 0 else { return self }
        let size = ResizePlan.Size(width: width + padding * 2, height: height + padding * 2)
        return try placed(on: size, x: padding, y: padding, background: color, within: budget)
    }

    /// The image on a larger canvas, its upper left at x, y; the remaining area is transparent or of a colour, which is
    /// also the background of the image.
    ///
    /// - Throws: `failed` if the image exceeds the canvas, `outOfMemory`, and the errors of `budget`.
    func placed(
        on size: ResizePlan.Size, x: Int, y: Int, background: ImageSizing.Color?, within budget: ImageBudget
    ) throws(ImageCodecError) -> DecodedImage {
        guard x >= 0, y >= 0, x <= size.width - width, y <= size.height - height else {
            throw ImageCodecError(
                .failed, "an image of \(width) x \(height) at \(x), \(y) of a canvas of \(size.width) x \(size.height)")
        }
        try budget.check(memory: cost + size.width * size.height * 4)
        let canvas = try PixelBuffer(byteCount: size.width * size.height * 4)
        try budget.eachRow(height, width) { row in
            memcpy(canvas.bytes + ((y + row) * size.width + x) * 4, pixels.bytes + row * bytesPerRow, bytesPerRow)
        }
        if let background { try canvas.flatten(onto: background, into: canvas, within: budget) }
        return replacing(canvas, width: size.width, height: size.height, mayHaveAlpha: background == nil)
    }

    /// Performs the remaining steps of a plan once the image is scaled and upright.
    func completed(
        _ plan: ResizePlan, _ sizing: ImageSizing?, within budget: ImageBudget
    ) throws(ImageCodecError) -> DecodedImage {
        var place: (x: Int, y: Int)?
        return try completed(plan, sizing, at: &place, within: budget)
    }

    /// - Parameter place: The upper left of the part that is selected by content; nil: this image's content selects it.
    func completed(
        _ plan: ResizePlan, _ sizing: ImageSizing?, at place: inout (x: Int, y: Int)?, within budget: ImageBudget
    ) throws(ImageCodecError) -> DecodedImage {
        if let cut = plan.cut, let position = sizing?.position {
            if place == nil {
                place = try budget.measured { (watch) throws(ImageCodecError) in
                    try ContentAwareCrop(self, cut, position).place(&watch)
                }
            }
            return try cropped(x: place?.x ?? 0, y: place?.y ?? 0, width: cut.width, height: cut.height, within: budget)
        }
        if let canvas = plan.canvas {
            return try placed(
                on: canvas.size, x: canvas.x, y: canvas.y, background: plan.background, within: budget)
        }
        guard let background = plan.background else { return self }
        return try flattened(onto: background, within: budget)
    }
}

extension ImageBudget {
    /// Processes rows of pixels one by one, as long as the budget allows.
    package func eachRow(_ count: Int, _ width: Int, _ work: (Int) -> Void) throws(ImageCodecError) {
        let between = max(1, icodec_watch.step * 4 / max(1, width))
        try measured { (watch) throws(ImageCodecError) in
            for row in 0..<count {
                if row % between == between - 1 { try watch.check() }
                work(row)
            }
        }
    }

    /// Processes pixels in parts, as long as the budget allows.
    func eachPart(_ count: Int, _ work: (Range<Int>) -> Void) throws(ImageCodecError) {
        let step = icodec_watch.step * 4
        try eachRow((count + step - 1) / step, step) { work($0 * step..<min(count, ($0 + 1) * step)) }
    }
}
