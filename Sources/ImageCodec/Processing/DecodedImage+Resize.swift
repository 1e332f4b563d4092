internal import CImageCodec

extension ImageSizing {
    /// The size of the result, and the additional memory for resizing in bytes.
    package func result(width: Int, height: Int) throws(ImageCodecError) -> (width: Int, height: Int, memory: Int) {
        let size = ResizePlan.Size(width: width, height: height)
        let plan = try ResizePlan(self, of: size)
        try plan.check(by: .unlimited, format: nil)
        let stored = StoredPlan(scaled: plan.scaled, window: plan.window, orientation: .up, seen: plan)
        let resizing = Resizing(
            extent: (Double(width), Double(height)), source: size, scaled: plan.scaled, window: plan.window,
            hasAlpha: true, linear: false)
        return (plan.result.width, plan.result.height, resizing.memory + stored.memory)
    }
}

extension DecodedImage {
    /// The image at another size, filtered by Lanczos-3 with alpha-weighted colours.
    ///
    /// ``ImageDecoder/decode(_:to:)`` does the same with less time and memory for an image in a file.
    ///
    /// - Parameters:
    ///   - sizing: The box and the fit.
    ///   - usesLinearLight: True to average light instead of sRGB values.
    ///   - budget: The image's budget. Default: unlimited.
    /// - Throws: `invalidArgument` for a box without sides, `outOfMemory`, and the errors of `budget`.
    public func resized(
        to sizing: ImageSizing, usesLinearLight: Bool = false, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        let size = ResizePlan.Size(width: width, height: height)
        let plan = try ResizePlan(sizing, of: size)
        try plan.check(by: budget.limits, format: nil)
        return try resized(scaled: plan.scaled, window: plan.window, linear: usesLinearLight, within: budget)
            .completed(plan, sizing, within: budget)
    }

    /// Scales the image and keeps a part of it.
    func resized(
        scaled: ResizePlan.Size, window: ResizePlan.Rectangle, linear: Bool, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        let resizing = Resizing(
            extent: (Double(width), Double(height)), source: ResizePlan.Size(width: width, height: height),
            scaled: scaled, window: window, hasAlpha: !isOpaque, linear: linear)
        if resizing.isIdentity { return self }
        let (columns, rows) = (Int(resizing.horizontal.count), Int(resizing.vertical.count))
        try budget.check(memory: cost + resizing.memory + columns * rows * 4)
        let resizer = try RowResizer(resizing)
        try budget.measured { (watch) throws(ImageCodecError) in
            try resizer.push(pixels.bytes, count: height, step: bytesPerRow, &watch)
        }
        return replacing(resizer.pixels, width: columns, height: rows)
    }
}
