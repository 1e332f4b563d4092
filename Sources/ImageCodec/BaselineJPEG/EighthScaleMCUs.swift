/// The loop over a scan's MCUs, in which nearly all of the time goes.
///
/// Functions for rare cases take and return values and are never inlined, so that registers suffice here.
enum EighthScaleMCUs {
    /// Decodes MCUs until there are `count` of them, or the position is beyond the limit. After damage,
    /// ``EntropyBits/isDamaged`` is set.
    static func decode(
        _ state: inout EntropyBits, _ data: [UInt8], limit: Int, count: Int, _ layout: EighthScaleLayout,
        _ positions: inout [Int], _ predictions: inout [Int], _ samples: inout [UInt8]
    ) -> Int {
        let bytes = data.span.bytes
        let blocks = layout.blocks.span
        let tables = layout.tables.span
        let values = layout.values.span
        let codes = layout.codes.span
        let quantizers = layout.quantizers.span
        let size = 1 << CoefficientTables.skipBits
        let firstTable = tables.extracting(0..<size)
        let secondTable = tables.extracting(size..<2 * size)
        var positions = positions.mutableSpan
        var predictions = predictions.mutableSpan
        var samples = samples.mutableSpan
        var bits = state
        var decoded = 0
        while decoded < count, bits.position <= limit {
            for index in blocks.indices {
                bits.refill(bytes)
                let entry = Int(
                    Int16(
                        truncatingIfNeeded: tables[
                            Int(blocks[index].differences) &+ bits.next(CoefficientTables.differenceBits)]))
                var difference = entry &>> 5
                bits.drop(entry & 31)
                if entry == 0 { (bits, difference) = bits.difference(codes, blocks[index].dc) }
                let component = Int(blocks[index].component)
                let first = predictions[component] &+ difference
                predictions[component] = first
                let light = first &* Int(blocks[index].quantizer)
                let position = positions[index]
                positions[index] = position &+ Int(blocks[index].step)
                // Coefficients that no image of 8 bits has; with them libjpeg's results wrap around.
                if bits.isDamaged || (light &+ 4096) & ~8191 != 0 {
                    state.count = -1
                    return decoded
                }
                if blocks[index].isDouble {
                    bits = double(
                        bits, bytes, values, codes, quantizers, Int(blocks[index].values),
                        Int(blocks[index].quantizers), blocks[index].ac, light, Int(blocks[index].stride), &samples,
                        position)
                } else {
                    samples[position] = DoubleBlock.sample(Int32(truncatingIfNeeded: light))
                    let table = blocks[index].isSecond ? secondTable : firstTable
                    bits = skip(bits, bytes, table, codes, blocks[index].ac)
                }
                if bits.isDamaged {
                    state.count = -1
                    return decoded
                }
            }
            decoded &+= 1
        }
        state = bits
        return decoded
    }

    /// Passes over the coefficients of a block.
    @inline(__always)
    private static func skip(
        _ state: EntropyBits, _ bytes: RawSpan, _ table: Span<UInt16>, _ codes: Span<UInt16>, _ range: HuffmanCodeRange
    ) -> EntropyBits {
        var bits = state
        // The entries so far: the place times 64, plus the number of bits since the refill.
        var sum = 1 << 6
        while true {
            bits.refill(bytes)
            var entry = 0
            lookups: do {
                entry = Int(table[bits.next(CoefficientTables.skipBits)])
                sum &+= entry
                if sum >= 64 << 6 { break lookups }
                bits.buffer &<<= UInt64(truncatingIfNeeded: entry)
                entry = Int(table[bits.next(CoefficientTables.skipBits)])
                sum &+= entry
                if sum >= 64 << 6 { break lookups }
                bits.buffer &<<= UInt64(truncatingIfNeeded: entry)
                entry = Int(table[bits.next(CoefficientTables.skipBits)])
                sum &+= entry
                if sum >= 64 << 6 { break lookups }
                bits.buffer &<<= UInt64(truncatingIfNeeded: entry)
                bits.count &-= sum & 63
                sum &= ~63
                continue
            }
            let place = sum &>> 6
            if place == 64 || (place >= CoefficientTables.end && place < CoefficientTables.end &+ 64) {
                bits.count &-= sum & 63
                bits.buffer &<<= UInt64(truncatingIfNeeded: entry)
                return bits
            }
            // An entry for nothing, or for more than the block has.
            sum &-= entry
            bits.count &-= sum & 63
            let next = bits.coefficient(bytes, codes, range, after: sum &>> 6)
            bits = next.0
            if bits.isDamaged || next.place == 64 { return bits }
            sum = next.place &<< 6
        }
    }

    /// Decodes a block to two by two samples.
    @inline(never)
    private static func double(
        _ state: EntropyBits, _ bytes: RawSpan, _ values: Span<Int32>, _ codes: Span<UInt16>, _ quantizers: Span<Int32>,
        _ table: Int, _ steps: Int, _ range: HuffmanCodeRange, _ light: Int, _ stride: Int,
        _ samples: inout MutableSpan<UInt8>, _ position: Int
    ) -> EntropyBits {
        var bits = state
        var block = DoubleBlock(first: light)
        var place = 1
        coefficients: while true {
            bits.refill(bytes)
            for _ in 0..<5 {
                let entry = values[table &+ bits.next(CoefficientTables.valueBits)]
                let advance = Int(entry &>> 8) & 255
                if place &+ advance <= 64 {
                    place &+= advance
                    block.set(entry &>> 16, quantizers[steps &+ place &- 1])
                    bits.drop(Int(entry & 255))
                    if place == 64 { break coefficients }
                    continue
                }
                if advance == CoefficientTables.end {
                    bits.drop(Int(entry & 255))
                    break coefficients
                }
                let next = bits.coefficient(bytes, codes, range, after: place)
                bits = next.0
                if bits.isDamaged { return bits }
                place = next.place
                block.set(Int32(truncatingIfNeeded: next.value), quantizers[steps &+ place &- 1])
                if place == 64 { break coefficients }
                continue coefficients
            }
        }
        guard let (first, second, third, fourth) = block.samples() else {
            bits.count = -1
            return bits
        }
        samples[position] = first
        samples[position &+ 1] = second
        samples[position &+ stride] = third
        samples[position &+ stride &+ 1] = fourth
        return bits
    }
}
