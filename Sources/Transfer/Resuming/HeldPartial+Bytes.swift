extension HeldPartial {
    /// The number of bytes held.
    package var heldBytes: Int64 {
        var held: Int64 = 0
        var position: Int64 = 0
        for range in missing {
            held += range.lowerBound - position
            position = range.upperBound
        }
        return position == .max ? held : held + max(0, (total ?? position) - position)
    }

    /// The reason why the partial cannot be resumed, in words; nil if it can.
    var defect: String? {
        guard validator.isUsable else { return "the validator of the held bytes is not a strong one" }
        var position: Int64 = 0
        for range in missing {
            guard range.lowerBound >= position, !range.isEmpty else { return "the held ranges contradict each other" }
            position = range.upperBound
        }
        if let total {
            guard total > 0, position <= total else { return "the held ranges contradict the held total" }
        } else {
            guard position == .max else { return "the held ranges have no end and no total" }
        }
        return nil
    }
}
