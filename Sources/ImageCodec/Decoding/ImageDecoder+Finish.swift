internal import CImageCodec

/// A plan in the coordinates of the stored image, with the rotation that follows.
struct StoredPlan {
    var scaled: ResizePlan.Size
    var window: ResizePlan.Rectangle
    var orientation: ImageOrientation
    /// The plan for the upright image.
    var seen: ResizePlan
}

extension ImageDecoder {
    /// - Throws: `invalidArgument` for a box without sides, `limitExceeded` if the result would be too large.
    func plan(
        _ sizing: ImageSizing?, _ header: ImageHeader
    ) throws(ImageCodecError) -> StoredPlan {
        let orientation = appliesOrientation ? header.orientation : .up
        let size = header.size(orientation)
        let plan =
            try sizing.map { (sizing) throws(ImageCodecError) in try ResizePlan(sizing, of: size) }
            ?? ResizePlan(keeping: size)
        try plan.check(by: limits, format: header.format)
        let (scaled, window) = plan.stored(orientation)
        return StoredPlan(scaled: scaled, window: window, orientation: orientation, seen: plan)
    }

    /// The last steps: rotation, selection of the part by content, canvas.
    ///
    /// In a worker each buffer holds one of few descriptors: each is freed as soon as the next one is complete.
    ///
    /// - Parameter resizer: The filter after the last row, which gives its pixels away.
    func finish(
        _ resizer: RowResizer, _ plan: StoredPlan, _ sizing: ImageSizing?, mayHaveAlpha: Bool, profile: [UInt8]?,
        exif: ExifBlock?, damage: ImageCodecError?, within budget: ImageBudget
    ) throws(ImageCodecError) -> DecodedImage {
        var image = DecodedImage(
            width: plan.window.width, height: plan.window.height, pixels: try resizer.takePixels(),
            mayHaveAlpha: mayHaveAlpha)
        image.profile = profile
        image.exif = appliesOrientation ? exif?.reset : exif?.bytes
        image.damage = damage
        image = try image.oriented(plan.orientation, within: budget)
        return try image.completed(plan.seen, sizing, within: budget)
    }
}
