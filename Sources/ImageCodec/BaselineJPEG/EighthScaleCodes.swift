internal import CImageCodec

/// The tables of a scan's Huffman codes.
struct EighthScaleCodes {
    /// ``CoefficientTables/skips(_:)`` of both codes, then ``CoefficientTables/differences(_:)`` of those in use.
    private(set) var tables: [UInt16] = []
    /// ``CoefficientTables/values(_:)`` of the codes in use.
    private(set) var values: [Int32] = []
    /// The codes themselves.
    private(set) var codes: [UInt16] = []
    private(set) var differences = [0, 0]
    private(set) var valueStarts = [0, 0]
    private(set) var dc = [HuffmanCodeRange(), HuffmanCodeRange()]
    private(set) var ac = [HuffmanCodeRange(), HuffmanCodeRange()]

    /// Returns nil if a code in use is missing or invalid.
    ///
    /// - Parameter needsValues: True if the components after the first are decoded to two by two samples per block.
    init?(_ scan: icodec_jpeg_scan, _ components: ArraySlice<icodec_jpeg_component>, needsValues: Bool) {
        let skipping = Set((needsValues ? components.prefix(1) : components).map { Int($0.ac) })
        let valued = Set((needsValues ? components.dropFirst() : []).map { Int($0.ac) })
        for (number, code) in [scan.ac.0, scan.ac.1].enumerated() {
            let isUsed = skipping.contains(number) || valued.contains(number)
            let code = isUsed ? HuffmanCode(code) : nil
            guard !isUsed || code != nil else { return nil }
            if let code {
                ac[number] = add(code)
                if valued.contains(number) {
                    valueStarts[number] = values.count
                    values += CoefficientTables.values(code)
                }
            }
            if let code, skipping.contains(number) {
                tables += CoefficientTables.skips(code)
            } else {
                tables += [UInt16](repeating: 0, count: 1 << CoefficientTables.skipBits)
            }
        }
        let used = Set(components.map { Int($0.dc) })
        for (number, code) in [scan.dc.0, scan.dc.1].enumerated() where used.contains(number) {
            guard let code = HuffmanCode(code, largestSymbol: 15) else { return nil }
            dc[number] = add(code)
            differences[number] = tables.count
            tables += CoefficientTables.differences(code)
        }
    }

    private mutating func add(_ code: HuffmanCode) -> HuffmanCodeRange {
        let range = HuffmanCodeRange(start: Int32(codes.count), firstLong: Int32(code.firstLong))
        codes += code.entries
        return range
    }
}
