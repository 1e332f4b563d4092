/// Comparison of secrets.
public enum ConstantTime {
    /// Whether two texts are equal, in a time that says nothing about where they differ. That they differ in length shows.
    ///
    /// Not inlined: a caller that knows one side must not lead the compiler to leave the loop early.
    @inline(never)
    public static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in one.indices { difference |= one[index] ^ other[index] }
        return difference == 0
    }
}
