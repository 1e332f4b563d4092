import CImageCodec
import Foundation
import TestSupport
import Testing

@testable import ImageCodec

/// The filter against a plain one in double precision.
@Suite struct ResizeTests {
    /// Lanczos-3 over the whole image, alpha-weighted, rounded at the end.
    private func reference(_ image: DecodedImage, _ width: Int, _ height: Int) throws -> DecodedImage {
        func weights(_ from: Int, _ to: Int) -> [[(Int, Double)]] {
            let ratio = Double(from) / Double(to)
            let widening = max(ratio, 1)
            return (0..<to).map { index in
                let center = (Double(index) + 0.5) * ratio
                let taps = (0..<from).compactMap { place -> (Int, Double)? in
                    let distance = abs(Double(place) + 0.5 - center) / widening
                    guard distance < 3 else { return nil }
                    let angle = Double.pi * distance
                    return (place, distance < 1e-9 ? 1 : 3 * sin(angle) * sin(angle / 3) / (angle * angle))
                }
                let sum = taps.reduce(0) { $0 + $1.1 }
                return taps.map { ($0.0, $0.1 / sum) }
            }
        }
        let columns = weights(image.width, width)
        let rows = weights(image.height, height)
        return try DecodedImage(width: width, height: height) { pixels in
            for y in 0..<height {
                for x in 0..<width {
                    var sum = SIMD4<Double>(repeating: 0)
                    for (row, down) in rows[y] {
                        for (column, across) in columns[x] {
                            let pixel = image[column, row]
                            let alpha = Double(pixel.w)
                            sum +=
                                SIMD4(Double(pixel.x) * alpha, Double(pixel.y) * alpha, Double(pixel.z) * alpha, alpha)
                                * (down * across)
                        }
                    }
                    let scale = sum.w < 0.5 ? 0 : 1 / sum.w
                    let result = [sum.x * scale, sum.y * scale, sum.z * scale, sum.w]
                    for channel in 0..<4 {
                        pixels[(y * width + x) * 4 + channel] = UInt8(min(max(result[channel], 0), 255).rounded())
                    }
                }
            }
        }
    }

    private func largestDifference(_ left: DecodedImage, _ right: DecodedImage) -> Int {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in zip(left, right).map { abs(Int($0) - Int($1)) }.max() ?? 0 }
        }
    }

    private func noise(_ width: Int, _ height: Int, opaque: Bool) throws -> DecodedImage {
        var state: UInt32 = 12345
        return try DecodedImage(width: width, height: height) { pixels in
            for index in 0..<pixels.count {
                state = state &* 1_664_525 &+ 1_013_904_223
                pixels[index] = index % 4 == 3 && opaque ? 255 : UInt8(state >> 24)
            }
        }
    }

    @Test(arguments: [(97, 61, 20, 13), (64, 64, 8, 8), (10, 7, 31, 29), (50, 3, 49, 2), (33, 1, 5, 1), (5, 5, 15, 10)])
    func `the resize filter matches double precision within one step`(_ sizes: (Int, Int, Int, Int)) throws {
        let image = try noise(sizes.0, sizes.1, opaque: true)
        var sizing = ImageSizing(width: sizes.2, height: sizes.3, fit: .fill)
        sizing.allowsEnlargement = true
        let expected = try reference(image, sizes.2, sizes.3)
        #expect(largestDifference(try image.resized(to: sizing), expected) <= 1)
    }

    @Test func `colours of transparent pixels do not bleed into the edge`() throws {
        // Opaque red next to transparent green.
        let image = try DecodedImage(width: 64, height: 16) { pixels in
            for index in 0..<(64 * 16) {
                let pixel: [UInt8] = index % 64 < 31 ? [200, 0, 0, 255] : [0, 255, 0, 0]
                for channel in 0..<4 { pixels[index * 4 + channel] = pixel[channel] }
            }
        }
        let small = try image.resized(to: .fit(16, 4))
        for x in 0..<16 where small[x, 2].w > 0 { #expect(small[x, 2].y == 0 && small[x, 2].x >= 199) }
        #expect(small[0, 2].w == 255 && small[15, 2].w == 0)
        let soft = try noise(40, 40, opaque: false)
        let expected = try reference(soft, 11, 11)
        let made = try soft.resized(to: .fit(11, 11))
        for y in 0..<11 { for x in 0..<11 { #expect(abs(Int(made[x, y].w) - Int(expected[x, y].w)) <= 1) } }
    }

    @Test func `a resized zone plate has a PSNR of at least 37 dB to the reference`() throws {
        let size = 192
        let image = try DecodedImage(width: size, height: size) { pixels in
            for y in 0..<size {
                for x in 0..<size {
                    let (dx, dy) = (Double(x - size / 2), Double(y - size / 2))
                    let value = UInt8((127.5 + 127 * cos(Double.pi * (dx * dx + dy * dy) / Double(size))).rounded())
                    for channel in 0..<3 { pixels[(y * size + x) * 4 + channel] = value }
                    pixels[(y * size + x) * 4 + 3] = 255
                }
            }
        }
        let bytes = try ImageEncoder.png().encode(image)
        let made = try ImageDecoder().decode(ImageSource(bytes), to: .fit(50, 50))
        let expected = try reference(image, 50, 50)
        let error = made.withUnsafeBytes { made in
            expected.withUnsafeBytes { zip(made, $0).map { pow(Double($0) - Double($1), 2) }.reduce(0, +) }
        }
        #expect(10 * log10(255 * 255 / max(error / Double(made.cost), 1e-9)) >= 37)
    }

    @Test func `in linear light, black and white lines average to the gray that shines half as bright`() throws {
        let lines = try DecodedImage(width: 64, height: 64) { pixels in
            for index in 0..<(64 * 64) {
                for channel in 0..<4 { pixels[index * 4 + channel] = channel == 3 || index % 2 == 0 ? 255 : 0 }
            }
        }
        let plain = try lines.resized(to: .fit(8, 8))[4, 4].x
        let linear = try lines.resized(to: .fit(8, 8), usesLinearLight: true)[4, 4].x
        #expect(abs(Int(plain) - 128) <= 1)
        #expect(abs(Int(linear) - 188) <= 1)
    }

    @Test func `a plain colour is unchanged at every size, with and without linear light`() throws {
        let image = try DecodedImage.plain(61, 47, [17, 130, 255, 255])
        for side in [1, 2, 13, 46, 60] {
            for linear in [false, true] {
                let small = try image.resized(to: .fit(side, side), usesLinearLight: linear)
                for x in 0..<small.width { #expect(small[x, 0] == [17, 130, 255, 255]) }
            }
        }
    }

    @Test func `rows that come one at a time, in pairs or all at once give the same pixels`() throws {
        var generator = SeededGenerator(for: "rows of a resize")
        for _ in 0..<40 {
            func side() -> Int { Int.random(in: 1...60, using: &generator) }
            let image = try noise(side(), side(), opaque: false)
            let size = ResizePlan.Size(width: side() * 2, height: side() * 2)
            let resizing = Resizing(
                extent: (Double(image.width), Double(image.height)),
                source: ResizePlan.Size(width: image.width, height: image.height), scaled: size,
                window: ResizePlan.Rectangle(x: 0, y: 0, width: size.width, height: size.height),
                hasAlpha: Bool.random(using: &generator), linear: Bool.random(using: &generator),
                correction: Bool.random(using: &generator) ? 1.0 / 24 : 0)
            let results = try [1, 2, 3, image.height].map { try resized(image, resizing, rowsAtATime: $0) }
            #expect(results.allSatisfy { $0 == results[0] }, "\(image.width) x \(image.height) to \(size)")
        }
    }

    private func resized(_ image: DecodedImage, _ resizing: Resizing, rowsAtATime: Int) throws -> [UInt8] {
        let resizer = try RowResizer(resizing)
        var watch = icodec_watch(deadline: .infinity, stop: nil)
        try image.withUnsafeBytes { bytes in
            let rows = try #require(bytes.bindMemory(to: UInt8.self).baseAddress)
            let stride = image.width * 4
            for start in Swift.stride(from: 0, to: image.height, by: rowsAtATime) {
                try resizer.push(
                    rows + start * stride, count: min(rowsAtATime, image.height - start), step: stride, &watch)
            }
        }
        return Array(UnsafeBufferPointer(start: resizer.pixels.bytes, count: resizer.pixels.byteCount))
    }
}
