internal import CImageCodec

/// The planes of a baseline JPEG at an eighth of its size, the blocks of an MCU, and their tables.
struct EighthScaleLayout {
    /// One component's samples.
    struct Plane {
        /// The index of the plane's first sample in the samples of all planes.
        var start: Int
        var stride: Int
        /// The image's pixels to a sample, as a shift.
        var shiftAcross: Int
        var shiftDown: Int
    }

    /// One block of an MCU.
    struct Block {
        var component: Int32
        /// True if the block becomes two by two samples: of a component with half the width and half the height.
        var isDouble: Bool
        /// Samples from one MCU to the next.
        var step: Int32
        var stride: Int32
        /// The step of the first coefficient.
        var quantizer: Int32
        /// The index of the component's steps in ``EighthScaleLayout/quantizers``.
        var quantizers: Int32
        /// The index of the table of differences in ``EighthScaleLayout/tables``.
        var differences: Int32
        /// True for the second of the two tables of other coefficients.
        var isSecond: Bool
        /// The index of the table in ``EighthScaleLayout/values``.
        var values: Int32
        var dc: HuffmanCodeRange
        var ac: HuffmanCodeRange
    }

    let width: Int
    let height: Int
    /// MCUs.
    let across: Int
    let down: Int
    private(set) var planes: [Plane] = []
    private(set) var sampleCount = 0
    private(set) var blocks: [Block] = []
    /// Samples of each block's first MCU, and from one row of MCUs to the next.
    private(set) var starts: [(first: Int, step: Int)] = []
    /// ``CoefficientTables/skips(_:)`` of both codes, then ``CoefficientTables/differences(_:)`` of both.
    private(set) var tables: [UInt16] = []
    private(set) var values: [Int32] = []
    private(set) var codes: [UInt16] = []
    /// In the order of the file: the step times 256, plus the place in a ``DoubleBlock``.
    private(set) var quantizers: [Int32] = []

    /// Returns nil for a scan that is left to libjpeg.
    init?(_ scan: icodec_jpeg_scan) {
        let count = Int(scan.components)
        let components = [scan.component.0, scan.component.1, scan.component.2].prefix(count)
        let factors: [(across: Int, down: Int)] = components.map {
            count == 1 ? (1, 1) : (Int($0.across), Int($0.down))
        }
        guard let first = factors.first, (1...2).contains(first.across), (1...2).contains(first.down),
            factors.dropFirst().allSatisfy({ $0 == (1, 1) })
        else { return nil }
        width = (Int(scan.width) + 7) / 8
        height = (Int(scan.height) + 7) / 8
        across = (width + first.across - 1) / first.across
        down = (height + first.down - 1) / first.down
        let isHalved = first == (2, 2)
        guard let code = EighthScaleCodes(scan, components, needsValues: isHalved) else { return nil }
        (tables, values, codes) = (code.tables, code.values, code.codes)
        for (index, component) in components.enumerated() {
            let isDouble = isHalved && index > 0
            let (wide, high) = isDouble ? (2, 2) : factors[index]
            let stride = across * wide
            planes.append(
                Plane(
                    start: sampleCount, stride: stride, shiftAcross: first.across / wide - 1,
                    shiftDown: first.down / high - 1))
            let steps = withUnsafeBytes(of: component.quantizers) { Array($0) }
            for place in 0..<factors[index].across * factors[index].down {
                let (x, y) = (place % factors[index].across, place / factors[index].across)
                blocks.append(
                    Block(
                        component: Int32(index), isDouble: isDouble, step: Int32(wide), stride: Int32(stride),
                        quantizer: Int32(steps[0]), quantizers: Int32(quantizers.count),
                        differences: Int32(code.differences[Int(component.dc)]), isSecond: component.ac == 1,
                        values: Int32(isDouble ? code.valueStarts[Int(component.ac)] : 0),
                        dc: code.dc[Int(component.dc)],
                        ac: code.ac[Int(component.ac)]))
                starts.append((sampleCount + y * stride + x, stride * high))
            }
            quantizers += zip(steps, DoubleBlock.places).map { Int32($0) << 8 | $1 }
            sampleCount += stride * high * down
        }
    }
}
