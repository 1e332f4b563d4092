package import FoundationEssentials

extension Date {
    /// Seconds since 1970, always finite: an implausible clock must not make arithmetic trap.
    package var secondsSince1970: Double {
        let seconds = timeIntervalSince1970
        guard seconds.isFinite else { return seconds == .infinity ? 1e15 : -1e15 }
        return seconds.clamped(-1e15, 1e15)
    }
}

extension Double {
    package func clamped(_ least: Double, _ greatest: Double) -> Double {
        self < least ? least : (self > greatest ? greatest : self)
    }

    /// The next lower whole number, saturating.
    package var wholeSeconds: Int {
        isNaN ? 0 : Int(clamped(-1e15, 1e15).rounded(.down))
    }
}

extension Int64 {
    /// The quotient, rounded towards negative infinity. `divisor` is positive.
    package func quotientFloored(_ divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
