/// The percent-encoding of a URL's parts, preserved or normalised.
struct Escapes {
    let strayPercents: URLParser.StrayPercents

    /// Preserves the given spelling; escapes only bytes that a URL cannot contain.
    func kept(_ bytes: ArraySlice<UInt8>) throws(InvalidURL) -> [UInt8] { try rewritten(bytes, normalizes: false) }

    /// Removes unnecessary escapes, writes the others in upper case, and escapes bytes that a URL cannot contain.
    func normalized(_ bytes: ArraySlice<UInt8>) throws(InvalidURL) -> [UInt8] { try rewritten(bytes, normalizes: true) }

    private func rewritten(_ bytes: ArraySlice<UInt8>, normalizes: Bool) throws(InvalidURL) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard let decoded = PercentEncoding.byte(bytes[index...]) else {
                    guard strayPercents == .escaped else { throw InvalidURL(.percent) }
                    PercentEncoding.append(byte, to: &result)
                    continue
                }
                if !normalizes {
                    result += bytes[(index - 1)..<(index + 2)]
                } else if decoded.isUnreserved {
                    result.append(decoded)
                } else {
                    PercentEncoding.append(decoded, to: &result)
                }
                index += 2
            } else if byte <= 0x20 || byte >= 0x7F {
                PercentEncoding.append(byte, to: &result)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
