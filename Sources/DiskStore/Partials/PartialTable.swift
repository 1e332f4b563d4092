/// A partial's row.
struct PartialRow: Sendable {
    let id: Int64
    let claim: Int64
    let key: EntryKey
    let reserved: Int64
    let updated: Int64
}

/// The incomplete bodies.
struct PartialTable: StatementRunner {
    let connection: Connection

    func partial(_ id: Int64) throws(StoreError) -> PartialRow? {
        try first(.partialByID, { $0.bind(1, id) }, row: PartialRow.init)
    }

    /// A key's partials, the most recently used first.
    func partials(of key: EntryKey) throws(StoreError) -> [PartialRow] {
        try rows(.partialsByKey, { $0.bind(1, keyHash(key)).bind(2, key.value) }, row: PartialRow.init)
    }

    /// All partials, the longest idle first.
    func all() throws(StoreError) -> [PartialRow] { try rows(.partialsByAge, row: PartialRow.init) }

    /// Some partials last used before a time, the longest idle first.
    ///
    /// - Parameter last: The partial behind which they begin; `nil` for the first ones.
    func longestIdle(after last: PartialRow?, before time: Int64, limit: Int64) throws(StoreError) -> [PartialRow] {
        try rows(
            .longestIdle,
            { $0.bind(1, last?.updated ?? .min).bind(2, last?.id ?? .min).bind(3, time).bind(4, limit) },
            row: PartialRow.init)
    }

    /// Some partials, in the order of their numbers.
    func partials(after id: Int64, limit: Int64) throws(StoreError) -> [PartialRow] {
        try rows(.partialsAfter, { $0.bind(1, id).bind(2, limit) }, row: PartialRow.init)
    }

    func count() throws(StoreError) -> Int { try first(.partialCount, row: { Int($0.integer(0)) }) ?? 0 }

    func insert(_ partial: PartialRow) throws(StoreError) {
        try run(.insertPartial) { insert in
            insert.bind(1, partial.id).bind(2, partial.claim).bind(3, keyHash(partial.key)).bind(4, partial.key.value)
            insert.bind(5, partial.reserved).bind(6, partial.updated)
        }
    }

    /// - Returns: The bytes that were reserved for it.
    func delete(_ id: Int64) throws(StoreError) -> Int64 {
        try delete(.deletePartial, id, size: .reservation) ?? 0
    }

    func save(claim: Int64, ofPartial id: Int64, updated: Int64) throws(StoreError) {
        try run(.updateClaim) { $0.bind(1, id).bind(2, claim).bind(3, updated) }
    }

    /// - Returns: The bytes that were reserved before; `nil` if the row no longer exists.
    func save(reserved: Int64, ofPartial id: Int64, updated: Int64) throws(StoreError) -> Int64? {
        guard let before = try first(.reservation, { $0.bind(1, id) }, row: { $0.integer(0) }) else { return nil }
        try run(.updateReserved) { $0.bind(1, id).bind(2, reserved).bind(3, updated) }
        return before
    }

    func noteUse(ofPartial id: Int64, at time: Int64) throws(StoreError) {
        try run(.updateUse) { $0.bind(1, id).bind(2, time) }
    }

    /// Removes a partial's key, so that look-ups no longer find it.
    func disown(_ id: Int64) throws(StoreError) { try run(.disownPartial) { $0.bind(1, id) } }

    func isDisowned(_ id: Int64) throws(StoreError) -> Bool { try partial(id)?.key.value.isEmpty == true }
}

extension PartialRow {
    fileprivate init(_ row: Statement) {
        self.init(
            id: row.integer(0), claim: row.integer(1), key: EntryKey(row.text(2)), reserved: row.integer(3),
            updated: row.integer(4))
    }
}

extension Query {
    private static let selectPartial = "SELECT id, claim, key, reserved, updated FROM partials"
    fileprivate static let insertPartial: Query =
        "INSERT INTO partials (id, claim, key_hash, key, reserved, updated) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    fileprivate static let reservation: Query = "SELECT reserved FROM partials WHERE id = ?1"
    fileprivate static let deletePartial: Query = "DELETE FROM partials WHERE id = ?1"
    fileprivate static let updateClaim: Query = "UPDATE partials SET claim = ?2, updated = ?3 WHERE id = ?1"
    fileprivate static let updateReserved: Query = "UPDATE partials SET reserved = ?2, updated = ?3 WHERE id = ?1"
    fileprivate static let updateUse: Query = "UPDATE partials SET updated = ?2 WHERE id = ?1"
    /// Keys are never empty.
    fileprivate static let disownPartial: Query = "UPDATE partials SET key_hash = 0, key = '' WHERE id = ?1"
    fileprivate static let partialByID: Query = "\(selectPartial) WHERE id = ?1"
    fileprivate static let partialsByKey: Query =
        "\(selectPartial) WHERE key_hash = ?1 AND key = ?2 ORDER BY updated DESC"
    fileprivate static let partialsByAge: Query = "\(selectPartial) ORDER BY updated, id"
    fileprivate static let longestIdle: Query =
        "\(selectPartial) WHERE (updated, id) > (?1, ?2) AND updated < ?3 ORDER BY updated, id LIMIT ?4"
    fileprivate static let partialsAfter: Query = "\(selectPartial) WHERE id > ?1 ORDER BY id LIMIT ?2"
    fileprivate static let partialCount: Query = "SELECT count(*) FROM partials"
}
