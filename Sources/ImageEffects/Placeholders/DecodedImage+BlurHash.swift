internal import Glibc
public import ImageCodec

extension DecodedImage {
    /// The image's BlurHash (blurha.sh) with 4 × 3 components, or 3 × 4 for an upright image: a text that encodes a blurred placeholder.
    /// Transparent pixels are composited on white.
    ///
    /// - Throws: `outOfMemory`.
    public var blurHash: String {
        get throws(ImageCodecError) { try blurHash(within: .unlimited) }
    }

    /// The BlurHash, within a budget.
    public func blurHash(within budget: ImageBudget) throws(ImageCodecError) -> String {
        let sample = try placeholderSample(within: budget).flattened(onto: .white, within: budget)
        let (columns, rows) = width >= height ? (4, 3) : (3, 4)
        return sample.withUnsafeBytes { BlurHash(sample.width, sample.height, $0, columns: columns, rows: rows).text }
    }
}

/// The encoder of BlurHash: the image's lowest frequencies (DCT) in linear light, in base 83.
private struct BlurHash {
    let text: String

    /// - Parameter pixels: Red, green, blue and alpha of width × height pixels.
    init(_ width: Int, _ height: Int, _ pixels: UnsafeRawBufferPointer, columns: Int, rows: Int) {
        let terms = Self.terms(width, height, pixels, columns, rows)
        var text = Self.base83(columns - 1 + (rows - 1) * 9, 1)
        let most = terms.dropFirst().reduce(0) { max($0, abs($1).max()) }
        let quantized = max(0, min(82, Int((most * 166 - 0.5).rounded(.down))))
        text += Self.base83(quantized, 1)
        let constant = terms[0]
        text += Self.base83(
            Self.encoded(constant.x) << 16 | Self.encoded(constant.y) << 8 | Self.encoded(constant.z), 4)
        let scale = Double(quantized + 1) / 166
        for term in terms.dropFirst() {
            func level(_ value: Double) -> Int {
                let root = copysign(abs(value / scale).squareRoot(), value)
                return max(0, min(18, Int((root * 9 + 9.5).rounded(.down))))
            }
            text += Self.base83((level(term.x) * 19 + level(term.y)) * 19 + level(term.z), 2)
        }
        self.text = text
    }

    /// The components in row-major order of their frequencies.
    private static func terms(
        _ width: Int, _ height: Int, _ pixels: UnsafeRawBufferPointer, _ columns: Int, _ rows: Int
    ) -> [SIMD3<Double>] {
        let across = cosines(width, columns), down = cosines(height, rows)
        var terms = [SIMD3<Double>](repeating: .zero, count: columns * rows)
        var sums = [SIMD3<Double>](repeating: .zero, count: columns)
        for y in 0..<height {
            for column in 0..<columns { sums[column] = .zero }
            for x in 0..<width {
                let pixel = (y * width + x) * 4
                let light = SIMD3(
                    linear[Int(pixels[pixel])], linear[Int(pixels[pixel + 1])], linear[Int(pixels[pixel + 2])])
                for column in 0..<columns { sums[column] += light * across[x * columns + column] }
            }
            for row in 0..<rows {
                for column in 0..<columns { terms[row * columns + column] += sums[column] * down[y * rows + row] }
            }
        }
        let area = Double(width * height)
        return terms.enumerated().map { $1 * (($0 == 0 ? 1 : 2) / area) }
    }

    private static func cosines(_ length: Int, _ frequencies: Int) -> [Double] {
        (0..<length * frequencies).map { index in
            cos(Double.pi * Double(index % frequencies) * Double(index / frequencies) / Double(length))
        }
    }

    /// Linear light of sRGB's values.
    private static let linear: [Double] = (0...255).map { level in
        let value = Double(level) / 255
        return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    private static func encoded(_ light: Double) -> Int {
        let light = min(max(light, 0), 1)
        let value = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
        return Int(value * 255 + 0.5)
    }

    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~")

    private static func base83(_ value: Int, _ length: Int) -> String {
        var rest = value
        var text: [Character] = []
        for _ in 0..<length {
            text.append(digits[rest % 83])
            rest /= 83
        }
        return String(text.reversed())
    }
}

private func abs(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(Swift.abs(vector.x), Swift.abs(vector.y), Swift.abs(vector.z))
}
