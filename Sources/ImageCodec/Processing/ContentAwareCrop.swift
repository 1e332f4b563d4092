internal import CImageCodec
internal import Glibc

/// Selects the most significant part of an image. The part spans one side of the image entirely and is moved along the
/// other.
struct ContentAwareCrop {
    private let image: DecodedImage
    private let part: ResizePlan.Size
    private let position: ImageSizing.Position

    init(_ image: DecodedImage, _ part: ResizePlan.Size, _ position: ImageSizing.Position) {
        self.image = image
        self.part = part
        self.position = position
    }

    /// The upper left corner of the part.
    func place(_ watch: inout icodec_watch) throws(ImageCodecError) -> (x: Int, y: Int) {
        let moves = part.width < image.width
        let count = moves ? image.width - part.width : image.height - part.height
        guard count > 0 else { return (0, 0) }
        let length = moves ? part.width : part.height
        let offset =
            position == .entropy
            ? try byEntropy(moves, count, length, &watch) : try byAttention(moves, count, length, &watch)
        return moves ? (offset, 0) : (0, offset)
    }

    /// The pixels of one line across the direction of the move.
    private func line(_ index: Int, _ moves: Bool) -> (start: Int, step: Int, count: Int) {
        moves ? (index * 4, image.bytesPerRow, image.height) : (index * image.bytesPerRow, 4, image.width)
    }

    /// A score takes a few hundred steps even for a short line.
    private func linesBetweenChecks(_ moves: Bool) -> Int { max(1, icodec_watch.step / (512 + line(0, moves).count)) }

    private func luma(_ offset: Int) -> Int {
        let pixel = image.pixels.bytes + offset
        let value = Int(pixel[0]) * 54 + Int(pixel[1]) * 183 + Int(pixel[2]) * 19
        return value * Int(pixel[3]) / (255 * 256)
    }

    /// The part whose luma has the highest Shannon entropy; the most central of equals.
    private func byEntropy(
        _ moves: Bool, _ count: Int, _ length: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var histogram = [Int](repeating: 0, count: 256)
        func add(_ index: Int, _ sign: Int) {
            let (start, step, pixels) = line(index, moves)
            for pixel in 0..<pixels { histogram[luma(start + pixel * step)] += sign }
        }
        let between = linesBetweenChecks(moves)
        for index in 0..<length {
            if index % between == between - 1 { try watch.check() }
            add(index, 1)
        }
        var scores: [Double] = []
        for offset in 0...count {
            // The number of pixels is constant, so the sum of n log n gives the reverse order of the entropy.
            scores.append(-histogram.reduce(0) { $1 > 1 ? $0 + Double($1) * log2(Double($1)) : $0 })
            if offset % between == between - 1 { try watch.check() }
            if offset < count {
                add(offset, -1)
                add(offset + length, 1)
            }
        }
        return Self.best(scores)
    }

    /// The part with most edges, saturation and skin colours.
    private func byAttention(
        _ moves: Bool, _ count: Int, _ length: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        var sums: [Double] = [0]
        let between = linesBetweenChecks(moves)
        for index in 0..<(count + length) {
            if index % between == between - 1 { try watch.check() }
            sums.append(sums[index] + attention(line(index, moves), isFirst: index == 0))
        }
        return Self.best((0...count).map { sums[$0 + length] - sums[$0] })
    }

    private func attention(_ line: (start: Int, step: Int, count: Int), isFirst: Bool) -> Double {
        var sum = 0.0
        let across = line.step == 4 ? image.bytesPerRow : 4
        for index in 0..<line.count {
            let here = line.start + index * line.step
            let pixel = image.pixels.bytes + here
            let (red, green, blue) = (Int(pixel[0]), Int(pixel[1]), Int(pixel[2]))
            let most = max(red, green, blue)
            let least = min(red, green, blue)
            let bright = luma(here)
            // The same position in the previous line, and the previous pixel in the line: the gradient.
            let before = isFirst ? bright : luma(here - across)
            let above = index > 0 ? luma(here - line.step) : bright
            sum += Double(abs(bright - before) + abs(bright - above))
            guard bright > 12, bright < 245, most > 0 else { continue }
            sum += Double(most - least) / Double(most) * 12 * Double(pixel[3]) / 255
            if red > green, green > blue, red - blue > 20, red - green < 100, red > 80, green * 100 > red * 55 {
                sum += 10 * Double(pixel[3]) / 255
            }
        }
        return sum
    }

    /// The index of the highest score; of equal ones that nearest to the middle.
    private static func best(_ scores: [Double]) -> Int {
        let middle = scores.count / 2
        return scores.indices.max { left, right in
            (scores[left], -abs(left - middle)) < (scores[right], -abs(right - middle))
        } ?? middle
    }
}
