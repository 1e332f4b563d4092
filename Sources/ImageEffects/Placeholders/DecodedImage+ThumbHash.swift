internal import Glibc
public import ImageCodec

extension DecodedImage {
    /// The image's ThumbHash (evanw.github.io/thumbhash): 5 to 25 bytes that encode the proportions, colours and transparency of a blurred
    /// placeholder.
    ///
    /// - Throws: `outOfMemory`.
    public var thumbHash: [UInt8] {
        get throws(ImageCodecError) { try thumbHash(within: .unlimited) }
    }

    /// The ThumbHash, within a budget.
    public func thumbHash(within budget: ImageBudget) throws(ImageCodecError) -> [UInt8] {
        let sample = try placeholderSample(within: budget)
        return sample.withUnsafeBytes { ThumbHash(sample.width, sample.height, $0).bytes }
    }

    /// The image within 100 × 100 pixels. This is the largest size that ThumbHash accepts, and more than sufficient for the other
    /// placeholders.
    func placeholderSample(within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        try resized(to: .placeholder, within: budget)
    }
}

extension ImageSizing {
    /// The size from which placeholders are computed.
    package static var placeholder: ImageSizing { .fit(100, 100) }
}

/// The encoder of ThumbHash: the image's lowest frequencies (DCT) in luminance, yellow-blue, red-green and alpha.
private struct ThumbHash {
    /// The terms of one channel.
    private struct Channel {
        var constant = 0.0
        /// 0 … 1, relative to the scale.
        var varying: [Double] = []
        var scale = 0.0
    }

    let bytes: [UInt8]

    /// - Parameter pixels: Red, green, blue and alpha of width × height pixels, at most 100 a side.
    init(_ width: Int, _ height: Int, _ pixels: UnsafeRawBufferPointer) {
        let planes = Self.planes(width * height, pixels)
        let longer = Double(max(width, height))
        let limit = planes.hasAlpha ? 5.0 : 7.0
        let columns = max(1, Self.rounded(limit * Double(width) / longer))
        let rows = max(1, Self.rounded(limit * Double(height) / longer))
        func encoded(_ plane: [Double], _ columns: Int, _ rows: Int) -> Channel {
            Self.channel(plane, width, height, columns, rows)
        }
        let luminance = encoded(planes.luminance, max(3, columns), max(3, rows))
        let (yellow, red) = (encoded(planes.yellow, 3, 3), encoded(planes.red, 3, 3))
        let isLandscape = width > height
        var first = Self.rounded(63 * luminance.constant)
        first |= Self.rounded(31.5 + 31.5 * yellow.constant) << 6
        first |= Self.rounded(31.5 + 31.5 * red.constant) << 12
        first |= Self.rounded(31 * luminance.scale) << 18
        first |= planes.hasAlpha ? 1 << 23 : 0
        var second = isLandscape ? rows : columns
        second |= Self.rounded(63 * yellow.scale) << 3
        second |= Self.rounded(63 * red.scale) << 9
        second |= isLandscape ? 1 << 15 : 0
        var bytes = [first, first >> 8, first >> 16, second, second >> 8].map { UInt8(truncatingIfNeeded: $0) }
        var varying = luminance.varying + yellow.varying + red.varying
        if planes.hasAlpha {
            let alpha = encoded(planes.alpha, 5, 5)
            bytes.append(
                UInt8(truncatingIfNeeded: Self.rounded(15 * alpha.constant) | Self.rounded(15 * alpha.scale) << 4))
            varying += alpha.varying
        }
        for (index, term) in varying.enumerated() {
            let bits = UInt8(truncatingIfNeeded: Self.rounded(15 * term))
            if index % 2 == 0 { bytes.append(bits) } else { bytes[bytes.count - 1] |= bits << 4 }
        }
        self.bytes = bytes
    }

    private struct Planes {
        var luminance: [Double] = []
        var yellow: [Double] = []
        var red: [Double] = []
        var alpha: [Double] = []
        var hasAlpha = false
    }

    /// The image on its average colour.
    private static func planes(_ count: Int, _ pixels: UnsafeRawBufferPointer) -> Planes {
        var average = SIMD3<Double>()
        var opacity = 0.0
        for index in 0..<count {
            let alpha = Double(pixels[index * 4 + 3]) / 255
            average += color(pixels, index) * (alpha / 255)
            opacity += alpha
        }
        if opacity > 0 { average /= opacity }
        var planes = Planes()
        planes.hasAlpha = opacity < Double(count)
        planes.luminance.reserveCapacity(count)
        planes.yellow.reserveCapacity(count)
        planes.red.reserveCapacity(count)
        for index in 0..<count {
            let alpha = Double(pixels[index * 4 + 3]) / 255
            let mixed = average * (1 - alpha) + color(pixels, index) * (alpha / 255)
            planes.luminance.append((mixed.x + mixed.y + mixed.z) / 3)
            planes.yellow.append((mixed.x + mixed.y) / 2 - mixed.z)
            planes.red.append(mixed.x - mixed.y)
            if planes.hasAlpha { planes.alpha.append(alpha) }
        }
        return planes
    }

    private static func color(_ pixels: UnsafeRawBufferPointer, _ index: Int) -> SIMD3<Double> {
        SIMD3(Double(pixels[index * 4]), Double(pixels[index * 4 + 1]), Double(pixels[index * 4 + 2]))
    }

    /// The transform by rows, then by columns.
    private static func channel(
        _ plane: [Double], _ width: Int, _ height: Int, _ columns: Int, _ rows: Int
    ) -> Channel {
        let across = Cosines(width, columns), down = Cosines(height, rows)
        // The frequencies of each row.
        var sums = [Double](repeating: 0, count: columns * height)
        for y in 0..<height {
            for x in 0..<width {
                let value = plane[y * width + x]
                for frequency in 0..<columns { sums[y * columns + frequency] += value * across[frequency, x] }
            }
        }
        var channel = Channel()
        for vertical in 0..<rows {
            var horizontal = 0
            while horizontal * rows < columns * (rows - vertical) {
                var term = 0.0
                for y in 0..<height { term += sums[y * columns + horizontal] * down[vertical, y] }
                term /= Double(width * height)
                if horizontal == 0, vertical == 0 {
                    channel.constant = term
                } else {
                    channel.varying.append(term)
                    channel.scale = max(channel.scale, abs(term))
                }
                horizontal += 1
            }
        }
        if channel.scale > 0 { channel.varying = channel.varying.map { 0.5 + 0.5 / channel.scale * $0 } }
        return channel
    }

    /// Half up, as in the published implementation.
    private static func rounded(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }

    /// cos(π / length · frequency · (position + ½)).
    private struct Cosines {
        private let values: [Double]
        private let frequencies: Int

        init(_ length: Int, _ frequencies: Int) {
            self.frequencies = frequencies
            values = (0..<length * frequencies).map { index in
                cos(Double.pi / Double(length) * Double(index % frequencies) * (Double(index / frequencies) + 0.5))
            }
        }

        subscript(frequency: Int, position: Int) -> Double { values[position * frequencies + frequency] }
    }
}
