extension Index {
    /// The number of variants up to which all are read. If there are more, only the wanted ones are read.
    private static let fewVariants: Int64 = 2

    /// The entries of a key that may be used for a request. If there are few, these are all of them. Otherwise it is one entry of each
    /// group of variants: the one that `variant` selects, or any other if that does not exist.
    ///
    /// A group is the part of a variant before a line break: variants with the same selecting fields. Each group costs
    /// two look-ups, whatever number of variants it has.
    func entries(
        for key: EntryKey, variant: (_ group: Substring) -> String
    ) throws(StoreError) -> [StoredEntry] {
        let catalogue = try catalogue()
        let some = try catalogue.entries.variants(of: key, limit: Self.fewVariants + 1)
        if some.count <= Self.fewVariants { return some }
        // The entry without a variant, which precedes all others.
        var found = try catalogue.entries.entry(of: key, variant: "").map { [$0] } ?? []
        var last = ""
        while let next = try catalogue.entries.entry(of: key, afterVariant: last) {
            guard let end = next.variant.firstIndex(of: "\n") else {
                found.append(next)
                last = next.variant
                continue
            }
            let group = next.variant[..<end]
            let wanted = variant(group)
            found.append(wanted == next.variant ? next : try catalogue.entries.entry(of: key, variant: wanted) ?? next)
            // The greatest text that begins with the group and a line break.
            last = group + "\n\u{10FFFF}"
        }
        return found
    }
}
