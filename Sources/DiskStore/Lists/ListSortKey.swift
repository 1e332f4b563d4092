/// A key that records are sorted by, encoded so that the order of bytes is the order of keys: numbers by value, then texts by their
/// bytes, then records without a key.
package struct ListSortKey: Sendable, Hashable {
    package let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// A key as ``bytes`` gave it.
    package init(encoded bytes: [UInt8]) { self.bytes = bytes }

    package static let none = ListSortKey(bytes: [3])

    package static func text(_ text: String) -> ListSortKey { ListSortKey(bytes: [2] + Array(text.utf8)) }

    /// Not-a-number counts as no key.
    package static func number(_ number: Double) -> ListSortKey {
        if number.isNaN { return none }
        // IEEE 754: with the sign bit turned, and all bits of negative numbers, bit patterns are ordered as the numbers are.
        let pattern = (number == 0 ? 0.0 : number).bitPattern
        let ordered = pattern >> 63 == 0 ? pattern | 1 << 63 : ~pattern
        return ListSortKey(bytes: [1] + (0..<8).map { UInt8(truncatingIfNeeded: ordered >> (56 - 8 * UInt64($0))) })
    }
}
