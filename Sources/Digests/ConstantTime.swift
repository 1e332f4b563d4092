/// Comparison of secrets.
package enum ConstantTime {
    /// Returns true if two texts are equal, in a time independent of the position of a difference. A difference in
    /// length is observable.
    ///
    /// Not inlined: with one side known, the compiler might otherwise leave the loop early.
    @inline(never)
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in one.indices { difference |= one[index] ^ other[index] }
        return difference == 0
    }
}
