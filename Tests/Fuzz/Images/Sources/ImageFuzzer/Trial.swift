import ImageCodec

/// All that is done with one file.
struct Trial {
    private let bytes: [UInt8]
    private var decoder = ImageDecoder()

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        decoder.limits.pixels = 1 << 20
        decoder.limits.memory = 64 << 20
        decoder.limits.seconds = 1
        decoder.keepsMetadata = true
        // Choices that depend on the input, so that an input always does the same.
        let choices = bytes.last ?? 0
        decoder.allowTruncated = choices & 1 == 0
        decoder.usesLinearLight = choices & 2 == 0
        if choices & 4 == 0 { decoder.color = .keepProfile }
        if choices & 8 == 0 { decoder.frame = Int(choices >> 4) }
    }

    func run() {
        let source = ImageSource(bytes)
        _ = try? ImageInfo.read(source, limits: decoder.limits)
        if let image = try? decoder.decode(source) { check(image) }
        if let image = try? decoder.decode(source, to: .cover(24, 24, position: .attention)) {
            check(image)
            for encoder in [ImageEncoder.jpeg(), .png(level: 1), .webp(isLossless: true)] {
                if let encoded = try? encoder.encode(image) { _ = try? ImageInfo.read(ImageSource(encoded)) }
            }
        }
        if format == .jpeg { preview() }
    }

    private func preview() {
        let preview = ProgressiveJPEGPreview(sizing: .fit(16, 16), decoder: decoder)
        for start in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 5)) {
            let part = Array(bytes[start..<min(bytes.count, start + max(1, bytes.count / 5))])
            guard let isBetter = try? preview.append(part) else { return }
            if isBetter, let image = try? preview.image() { check(image) }
        }
    }

    /// Reads every byte, so that one that is not there is found.
    private func check(_ image: DecodedImage) {
        precondition(image.withUnsafeBytes { $0.reduce(into: UInt8(0)) { $0 ^= $1 } } >= 0)
        precondition(image.width * image.height <= decoder.limits.pixels)
    }
}
