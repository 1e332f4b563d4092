extension Int64 {
    /// The value of one or more ASCII digits, as HTTP's grammars write numbers; `nil` for anything else (also for a sign, which
    /// `Int64("+5")` takes) and for a number beyond 63 bits.
    @inlinable
    package init?(digits: some Collection<UInt8>) {
        guard let (value, isExact) = Self.readDigits(digits), isExact else { return nil }
        self = value
    }

    /// The value of one or more ASCII digits; `Int64.max` for a number beyond 63 bits, `nil` for anything else.
    @inlinable
    package init?(saturatingDigits digits: some Collection<UInt8>) {
        guard let (value, _) = Self.readDigits(digits) else { return nil }
        self = value
    }

    @inlinable
    package static func readDigits(_ digits: some Collection<UInt8>) -> (value: Int64, isExact: Bool)? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        var isExact = true
        for byte in digits {
            guard byte.isDigit else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowToo) = product.addingReportingOverflow(Int64(byte - 48))
            if overflow || overflowToo { isExact = false }
            value = isExact ? sum : .max
        }
        return (value, isExact)
    }
}
