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
        let some = try select(.someByKey, key) { $0.bind(3, Self.fewVariants + 1) }
        if some.count <= Self.fewVariants { return some }
        // The one without a variant would not come after anything.
        var found = try entry(for: key, variant: "")
        var last = ""
        while let next = try select(.entryAfterVariant, key, { $0.bind(3, last) }).first {
            guard let end = next.variant.firstIndex(of: "\n") else {
                found.append(next)
                last = next.variant
                continue
            }
            let group = next.variant[..<end]
            let wanted = variant(group)
            found += wanted == next.variant ? [next] : try entry(for: key, variant: wanted).first.map { [$0] } ?? [next]
            // No text that begins with the group and a line break comes after this.
            last = group + "\n\u{10FFFF}"
        }
        return found
    }

    /// The entry of a key with a variant: one or none.
    func entry(for key: EntryKey, variant: String) throws(StoreError) -> [StoredEntry] {
        try select(.entryByVariant, key) { $0.bind(3, variant) }
    }

    private func select(
        _ query: Query, _ key: EntryKey, _ bind: (Statement) -> Void
    ) throws(StoreError) -> [StoredEntry] {
        let select = try database().prepared(query).bind(1, keyHash(key)).bind(2, key.value)
        bind(select)
        defer { select.reset() }
        var found: [StoredEntry] = []
        while try select.step() { found.append(StoredEntry(select, withAccess: false)) }
        return found
    }
}
