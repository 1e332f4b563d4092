internal import CImageCodec

/// Reads the rows of an image that an ``EighthScaleDecoder`` has decoded. Not Sendable: used by one thread at a time.
final class EighthScaleReader: RowReading {
    private let layout: EighthScaleLayout
    private let samples: [UInt8]
    private var next = 0

    init(_ decoder: EighthScaleDecoder) {
        layout = decoder.layout
        samples = decoder.samples
    }

    var width: Int { layout.width }
    var height: Int { layout.height }

    func read(
        into target: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        try watch.check()
        let count = min(count, height - next)
        for row in 0..<count {
            let pixels = UnsafeMutableRawBufferPointer(start: target + row * width * 4, count: width * 4)
            convert(next + row, pixels)
        }
        next += count
        return count
    }

    /// Converts a row to red, green, blue and 255. Horizontally subsampled chroma samples are repeated.
    private func convert(_ row: Int, _ target: UnsafeMutableRawBufferPointer) {
        let (samples, width) = (samples, width)
        var pixels = target.mutableBytes
        let luma = samples.span.extracting(range(0, row))
        guard layout.planes.count == 3 else {
            for x in 0..<width {
                pixels.storeBytes(
                    of: Self.pixel(Int32(luma[x]), blue: 0, red: 0).littleEndian, toByteOffset: x &* 4, as: UInt32.self)
            }
            return
        }
        let blue = samples.span.extracting(range(1, row))
        let red = samples.span.extracting(range(2, row))
        let (blueShift, redShift) = (layout.planes[1].shiftAcross, layout.planes[2].shiftAcross)
        for x in 0..<width {
            let pixel = Self.pixel(
                Int32(luma[x]), blue: Int32(blue[x &>> blueShift]) &- 128, red: Int32(red[x &>> redShift]) &- 128)
            pixels.storeBytes(of: pixel.littleEndian, toByteOffset: x &* 4, as: UInt32.self)
        }
    }

    /// The indices of a plane's samples for a row of pixels.
    private func range(_ index: Int, _ row: Int) -> Range<Int> {
        let plane = layout.planes[index]
        let start = plane.start + (row >> plane.shiftDown) * plane.stride
        return start..<start + plane.stride
    }

    /// The colours of Y, Cb and Cr (ITU-T T.871, 7) with 16 bits behind the point, rounded as libjpeg does.
    @inline(__always)
    private static func pixel(_ luma: Int32, blue: Int32, red: Int32) -> UInt32 {
        func limited(_ value: Int32) -> UInt32 { UInt32(truncatingIfNeeded: min(max(value, 0), 255)) }
        let half: Int32 = 1 << 15
        let r = limited(luma &+ (91881 &* red &+ half) &>> 16)
        let g = limited(luma &+ (half &- 22554 &* blue &- 46802 &* red) &>> 16)
        let b = limited(luma &+ (116130 &* blue &+ half) &>> 16)
        return r | g &<< 8 | b &<< 16 | 255 &<< 24
    }
}
