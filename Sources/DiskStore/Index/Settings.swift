/// Something that the store remembers of itself, as a number.
enum StoreSetting: String {
    /// 1 while the index or its log may still hold pages that a migration has replaced.
    case scrub
}

extension Index {
    /// The remembered value; `nil` when there is none.
    func setting(_ setting: StoreSetting) throws(StoreError) -> Int64? {
        let select = try database().prepared(.setting).bind(1, setting.rawValue)
        defer { select.reset() }
        return try select.step() ? select.integer(0) : nil
    }

    /// Remembers a value, or forgets it.
    func save(_ setting: StoreSetting, _ value: Int64?) throws(StoreError) {
        try change { (_) throws(StoreError) in
            if let value {
                try database().prepared(.saveSetting).bind(1, setting.rawValue).bind(2, value).run()
            } else {
                try database().prepared(.deleteSetting).bind(1, setting.rawValue).run()
            }
        }
    }
}
