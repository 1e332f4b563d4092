import ImageCodec

/// The original of tests that look at sizes and statuses, not at its content.
enum GradientPicture {
    /// A JPEG of 640 × 480.
    static let bytes: [UInt8] = {
        let image = try? DecodedImage(width: 640, height: 480) { memory in
            for index in 0..<(640 * 480) {
                memory[index * 4] = UInt8(truncatingIfNeeded: index % 640 * 255 / 640)
                memory[index * 4 + 1] = UInt8(truncatingIfNeeded: index / 640 * 255 / 480)
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.jpeg(quality: 90).encode($0) } ?? []
    }()
}
