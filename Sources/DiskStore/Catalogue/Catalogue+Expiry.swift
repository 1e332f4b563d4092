/// Entries that are no longer useful.
extension Catalogue {
    static let expired = """
        SELECT e.id, e.allocated, a.date FROM entries e JOIN access a ON a.entry = e.id
        WHERE e.expires IS NOT NULL AND e.expires <= ?1
        AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id) ORDER BY e.expires LIMIT ?2
        """
    static let ofOtherVersions = """
        SELECT id FROM entries WHERE version IS NOT NULL AND (version < ?1 OR version > ?1) LIMIT ?2
        """
    static let ofOtherFormats = """
        SELECT id FROM entries WHERE value_type = ?1 AND (value_version < ?2 OR value_version > ?2) LIMIT ?3
        """
    static let createdBefore = "SELECT id, created FROM entries WHERE id > ?1 ORDER BY id LIMIT ?2"

    /// The entries that are no longer useful and not held by a run, longest expired first.
    func expired(at now: Int64, limit: Int64) throws(StoreError) -> [EvictionCandidate] {
        try all(.expired, { $0.bind(1, now).bind(2, limit) }, row: EvictionCandidate.init)
    }

    /// Entries for other versions of the application than this one.
    func entries(ofOtherVersionsThan version: String, limit: Int64) throws(StoreError) -> [Int64] {
        try all(.ofOtherVersions, { $0.bind(1, version).bind(2, limit) }) { $0.integer(0) }
    }

    /// Values of the format's type in other versions of it.
    func entries(ofOtherFormatsThan format: ValueFormat, limit: Int64) throws(StoreError) -> [Int64] {
        try all(.ofOtherFormats, { $0.bind(1, format.type).bind(2, format.version).bind(3, limit) }) { $0.integer(0) }
    }

    /// Numbers and dates of entries, ordered by number, which is nearly the order of the dates.
    func dates(after id: Int64, limit: Int64) throws(StoreError) -> [(id: Int64, created: Int64)] {
        try all(.createdBefore, { $0.bind(1, id).bind(2, limit) }) { ($0.integer(0), $0.integer(1)) }
    }
}
