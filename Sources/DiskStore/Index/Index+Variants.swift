extension Index {
    /// Up to so many variants are read all; of more, only those that are asked for.
    private static let fewVariants: Int64 = 2

    /// The entries of a key that a request may be answered with: all of them when they are few, else of each group of
    /// variants the one that `variant` names, or any other of the group when that is not there.
    ///
    /// A group is what stands in a variant before a line break: variants that are told apart by the same thing. Each costs
    /// two look-ups, however many variants it has.
    func entries(
        for key: EntryKey, variant: (_ group: Substring) -> String
    ) throws(StoreError) -> [StoredEntry] {
        let catalogue = try catalogue()
        let some = try catalogue.entries(of: key, limit: Self.fewVariants + 1)
        if some.count <= Self.fewVariants { return some }
        // The one without a variant would not come after anything.
        var found = try catalogue.entry(of: key, variant: "").map { [$0] } ?? []
        var last = ""
        while let next = try catalogue.entry(of: key, afterVariant: last) {
            guard let end = next.variant.firstIndex(of: "\n") else {
                found.append(next)
                last = next.variant
                continue
            }
            let group = next.variant[..<end]
            let wanted = variant(group)
            found.append(wanted == next.variant ? next : try catalogue.entry(of: key, variant: wanted) ?? next)
            // No text that begins with the group and a line break comes after this.
            last = group + "\n\u{10FFFF}"
        }
        return found
    }
}
