extension ImageDecoder {
    /// Decodes once what several sizes are then made of by ``DecodedImage/resized(to:usesLinearLight:)``: no smaller than the
    /// largest of them, and far smaller than the stored size where all of them are small.
    ///
    /// A JPEG comes at the smallest scale that its decoder offers and that is large enough; other formats at twice the size of
    /// the largest, so that none of them shows that it was filtered twice.
    public func decode(
        _ source: ImageSource, covering sizings: [ImageSizing]
    ) throws(ImageCodecError) -> DecodedImage {
        let info = try info(source)
        let isTurned = appliesOrientation && info.orientation.swapsSides
        let size = ResizePlan.Size(
            width: isTurned ? info.height : info.width, height: isTurned ? info.width : info.height)
        var (across, down) = (0.0, 0.0)
        for sizing in sizings {
            let plan = try ResizePlan(sizing, of: size)
            across = max(across, Double(plan.scaled.width) / Double(size.width))
            down = max(down, Double(plan.scaled.height) / Double(size.height))
        }
        let wanted = max(across, down)
        let scale = info.format == .jpeg ? (wanted * 8).rounded(.up) / 8 : wanted * 2
        guard scale < 1, scale > 0 else { return try decode(source) }
        func side(_ length: Int) -> Int { max(1, Int((Double(length) * scale).rounded(.up))) }
        return try decode(source, to: ImageSizing(width: side(size.width), height: side(size.height), fit: .fill))
    }
}
