public import ImageCodec

extension ImageProcessor {
    /// Removes a border that has the colour of the upper left pixel.
    ///
    /// - Parameter tolerance: The maximum difference of each channel of a border pixel, 0 to 255.
    public static func trim(tolerance: Int) -> ImageProcessor {
        ImageProcessor(builtIn: TrimEffect(tolerance: tolerance))
    }
}

struct TrimEffect: BuiltInEffect {
    var tolerance = 0

    var identity: String { "trim(\(tolerance))" }
    var hasOneSize: Bool { false }

    func process(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try image.trimmed(tolerance: tolerance, within: budget)
    }

    func memory(width: Int, height: Int) -> Int { width * height * 4 }

    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&tolerance)
    }
}

extension DecodedImage {
    /// The image without a border that has the colour of the upper left pixel.
    ///
    /// - Parameter tolerance: The maximum difference of a channel of a border pixel from that colour, 0 to 255. All fully transparent
    ///   pixels count as equal.
    /// - Returns: The image itself if it has only one colour.
    /// - Throws: `outOfMemory`, and the errors of `budget`.
    public func trimmed(
        tolerance: Int, within budget: ImageBudget = .unlimited
    ) throws(ImageCodecError) -> DecodedImage {
        guard let content = try contentBounds(tolerance, budget) else { return self }
        return try cropped(
            x: content.x.lowerBound, y: content.y.lowerBound, width: content.x.count, height: content.y.count,
            within: budget)
    }

    /// The bounding rectangle of all pixels that differ from the border, or nil if there are none.
    private func contentBounds(
        _ tolerance: Int, _ budget: ImageBudget
    ) throws(ImageCodecError) -> (x: ClosedRange<Int>, y: ClosedRange<Int>)? {
        let border = self[0, 0]
        var (left, right, top, bottom) = (width, -1, height, -1)
        try budget.eachRow(height, width) { y in
            let row = pixels.bytes + y * bytesPerRow
            func differs(_ x: Int) -> Bool { Self.differ(row + x * 4, border, tolerance) }
            guard let first = (0..<width).first(where: differs), let last = (first..<width).last(where: differs) else {
                return
            }
            (left, right) = (min(left, first), max(right, last))
            (top, bottom) = (min(top, y), max(bottom, y))
        }
        return right < 0 ? nil : (left...right, top...bottom)
    }

    private static func differ(_ pixel: UnsafePointer<UInt8>, _ border: SIMD4<UInt8>, _ tolerance: Int) -> Bool {
        if pixel[3] == 0, border.w == 0 { return false }
        for channel in 0..<4 where abs(Int(pixel[channel]) - Int(border[channel])) > tolerance { return true }
        return false
    }
}
