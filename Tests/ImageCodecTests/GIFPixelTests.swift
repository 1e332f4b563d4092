import TestSupport
import Testing

@testable import ImageCodec

/// The LZW data of GIFs: tables that grow, are full and are emptied, and codes that are not there.
@Suite struct GIFPixelTests {
    /// A GIF whose palette is gray, so that a pixel's red is its index.
    private static func gif(width: Int, height: Int, size: Int, codes: [(code: Int, width: Int)]) -> [UInt8] {
        func two(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8)] }
        var bytes = Array("GIF89a".utf8) + two(width) + two(height) + [0xF7, 0, 0]
        bytes += (0..<256).flatMap { [UInt8($0), UInt8($0), UInt8($0)] }
        bytes += [0x2C, 0, 0, 0, 0] + two(width) + two(height) + [0, UInt8(size)]
        var data: [UInt8] = []
        var (bits, held) = (0, 0)
        for (code, width) in codes {
            bits |= code << held
            held += width
            while held >= 8 {
                data.append(UInt8(bits & 255))
                bits >>= 8
                held -= 8
            }
        }
        data.append(UInt8(bits & 255))
        for start in stride(from: 0, to: data.count, by: 255) {
            let part = data[start..<min(start + 255, data.count)]
            bytes += [UInt8(part.count)] + part
        }
        return bytes + [0, 0x3B]
    }

    /// The codes of indices, as GIF89a's appendix F has them.
    ///
    /// - Parameter clears: True to empty the table when it is full; false to go on with it.
    private static func codes(_ indices: [UInt8], size: Int, clears: Bool) -> [(code: Int, width: Int)] {
        let clear = 1 << size
        var codes = [(code: clear, width: size + 1)]
        var table: [[UInt8]: Int] = [:]
        var (next, width, held) = (clear + 2, size + 1, [UInt8]())
        func code(_ string: [UInt8]) -> Int { string.count == 1 ? Int(string[0]) : table[string] ?? 0 }
        for index in indices {
            let longer = held + [index]
            if held.isEmpty || table[longer] != nil {
                held = longer
                continue
            }
            codes.append((code(held), width))
            held = [index]
            if next < 4096 {
                table[longer] = next
                next += 1
                // The decoder knows this string one code later.
                if next > 1 << width, width < 12 { width += 1 }
            } else if clears {
                codes.append((clear, width))
                (table, next, width) = ([:], clear + 2, size + 1)
            }
        }
        codes.append((code(held), width))
        if next < 4096, next + 1 > 1 << width, width < 12 { width += 1 }
        return codes + [(clear + 1, width)]
    }

    @Test(arguments: [1, 2, 5, 8], [true, false])
    func `pixel indices are preserved in every state of the code table`(_ size: Int, _ clears: Bool) throws {
        var random = SeededGenerator(for: "GIFPixelTests")
        for width in [1, 254] {
            // Few colours and long runs: long strings, which go over the ends of rows.
            var indices: [UInt8] = []
            while indices.count < 8_000 {
                let index = UInt8.random(in: 0..<UInt8(clamping: 1 << size), using: &random)
                indices += Array(repeating: index, count: Int.random(in: 1...(width % 2 * 40 + 2), using: &random))
            }
            let height = indices.count / width
            let bytes = Self.gif(
                width: width, height: height, size: size,
                codes: Self.codes(Array(indices.prefix(width * height)), size: size, clears: clears))
            let image = try ImageDecoder().decode(ImageSource(bytes))
            let reds = image.withUnsafeBytes { pixels in (0..<width * height).map { pixels[$0 * 4] } }
            #expect(reds == Array(indices.prefix(width * height)), "width \(width)")
        }
    }

    @Test(arguments: [
        [(256, 9), (0, 9), (300, 9)], [(256, 9), (258, 9)], [(256, 9), (0, 9), (257, 9)], [(0, 9), (259, 9)],
        [(256, 9), (0, 9), (256, 9), (258, 9)],
    ])
    func `a code that is not in the table, or an early end, ends the image`(_ codes: [(Int, Int)]) throws {
        let bytes = Self.gif(width: 4, height: 4, size: 8, codes: codes.map { (code: $0.0, width: $0.1) })
        let error = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(ImageSource(bytes)) }
        #expect(error?.code == .corrupt)
        var decoder = ImageDecoder()
        decoder.allowTruncated = true
        #expect(try decoder.decode(ImageSource(bytes)).damage?.code == .corrupt)
    }
}
