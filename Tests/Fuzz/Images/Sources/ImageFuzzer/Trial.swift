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
        decoder.limits.frames = 40
        decoder.limits.animationPixels = 1 << 22
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
        if format == .gif || format == .webp { animation(source) }
    }

    /// All frames, resized and written again; of every second input the first ones are passed over, as those that a memory has.
    private func animation(_ source: ImageSource) {
        guard let reader = try? decoder.frames(of: source, to: .fit(24, 24)) else { return }
        if bytes.count % 2 == 0 {
            for _ in 0..<3 where (try? reader.skip()) != true { return }
        }
        let encoder = try? AnimationEncoder(.webp(), width: reader.width, height: reader.height)
        while let frame = try? reader.next() {
            check(frame.image)
            try? encoder?.add(frame.image, for: frame.duration)
        }
        if let file = try? encoder?.finish() { _ = try? ImageInfo.read(ImageSource(file)) }
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
