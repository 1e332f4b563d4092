import FoundationEssentials

/// The entries, and the order in which they were used.
struct EntryTable: StatementRunner {
    let connection: Connection

    // MARK: Finding

    func variants(of key: EntryKey, withAccess: Bool = false) throws(StoreError) -> [StoredEntry] {
        try rows(withAccess ? .entriesByKeyWithAccess : .entriesByKey, { $0.bind(key) }) {
            StoredEntry($0, key: key, withAccess: withAccess)
        }
    }

    func variants(of key: EntryKey, limit: Int64) throws(StoreError) -> [StoredEntry] {
        try rows(.someByKey, { $0.bind(key).bind(3, limit) }) { StoredEntry($0, key: key, withAccess: false) }
    }

    /// The entry of a key with a variant.
    func entry(of key: EntryKey, variant: String) throws(StoreError) -> StoredEntry? {
        try first(.entryByVariant, { $0.bind(key).bind(3, variant) }) { StoredEntry($0, key: key, withAccess: false) }
    }

    /// The entry of a key with the next variant in text order.
    func entry(of key: EntryKey, afterVariant last: String) throws(StoreError) -> StoredEntry? {
        try first(.entryAfterVariant, { $0.bind(key).bind(3, last) }) { StoredEntry($0, key: key, withAccess: false) }
    }

    func entry(_ id: Int64) throws(StoreError) -> StoredEntry? {
        try first(.entryByID, { $0.bind(1, id) }) { StoredEntry($0, withAccess: true) }
    }

    /// Entries whose bodies have a digest.
    func entries(sha256: [UInt8], limit: Int64) throws(StoreError) -> [StoredEntry] {
        try rows(.bySHA256, { $0.bind(1, sha256).bind(2, limit) }) { StoredEntry($0, withAccess: false) }
    }

    func contains(_ id: Int64) throws(StoreError) -> Bool {
        try first(.entryExists, { $0.bind(1, id) }, row: { _ in true }) ?? false
    }

    /// Numbers and URLs of the newest entries before a number.
    func urls(before id: Int64, limit: Int) throws(StoreError) -> [(id: Int64, url: String)] {
        try rows(.urlsBefore, { $0.bind(1, id).bind(2, Int64(limit)) }) { ($0.integer(0), $0.text(1)) }
    }

    func variantCount(of key: EntryKey) throws(StoreError) -> Int64 {
        try first(.variantCount, { $0.bind(1, keyHash(key)) }, row: { $0.integer(0) }) ?? 0
    }

    /// The least recently used variants of a key.
    func oldestVariants(of key: EntryKey, count: Int64) throws(StoreError) -> [Int64] {
        try rows(.oldestVariants, { $0.bind(key).bind(3, count) }) { $0.integer(0) }
    }

    /// The numbers of all entries in the given order.
    func identifiers(by order: EntryOrder, descending: Bool) throws(StoreError) -> [Int64] {
        let direction = descending ? "DESC" : "ASC"
        let sql =
            switch order {
            // Both parts are in order, and are merged.
            case .age:
                """
                SELECT entry, sequence FROM access WHERE pinned = 0
                UNION ALL SELECT entry, sequence FROM access WHERE pinned = 1 ORDER BY sequence \(direction)
                """
            case .size: "SELECT id FROM entries ORDER BY allocated \(direction), id"
            case .url: "SELECT id FROM entries ORDER BY url \(direction), id"
            case .created: "SELECT id FROM entries ORDER BY created \(direction), id \(direction)"
            }
        let select = try connection.prepare(sql)
        defer { select.finalize() }
        var ids: [Int64] = []
        while try select.step() { ids.append(select.integer(0)) }
        return ids
    }

    // MARK: Changing

    func insert(
        _ new: NewEntry, _ body: FinishedBody, id: Int64, created: Int64, sequence: Int64, expires: Int64?
    ) throws(StoreError) {
        try run(.insertEntry) { insert in
            insert.bind(1, id).bind(2, keyHash(new.key)).bind(3, new.key.value).bind(4, new.variant).bind(5, new.url)
            insert.bind(6, body.size).bind(7, body.allocated).bind(8, body.checksum).bind(9, body.boot)
            insert.bind(10, created).bind(11, new.metadata)
            insert.bind(12, expires).bind(13, new.version)
            insert.bind(14, new.format?.type).bind(15, new.format?.version).bind(16, new.sha256)
        }
        try run(.insertAccess) { $0.bind(1, id).bind(2, sequence).bind(3, created) }
    }

    /// Deletes an entry's rows.
    ///
    /// - Returns: The bytes of its body, or nil if there was no entry.
    func delete(_ id: Int64) throws(StoreError) -> Int64? {
        guard let allocated = try delete(.deleteEntry, id, size: .entrySize) else { return nil }
        try run(.deleteAccess) { $0.bind(1, id) }
        return allocated
    }

    /// - Returns: False if the entry no longer exists.
    func save(metadata: [UInt8], of id: Int64) throws(StoreError) -> Bool {
        try run(.updateMetadata) { $0.bind(1, id).bind(2, metadata) }
        return connection.changes > 0
    }

    func save(variant: String, of id: Int64) throws(StoreError) {
        try run(.updateVariant) { $0.bind(1, id).bind(2, variant) }
    }

    /// Sets an entry's ``CheckMark``.
    func save(_ mark: Int64, of id: Int64) throws(StoreError) { try run(.updateMark) { $0.bind(1, id).bind(2, mark) } }

    /// Sets an entry's ``CheckMark`` if it still has the old value.
    func replace(_ old: Int64, by mark: Int64, of id: Int64) throws(StoreError) {
        try run(.replaceMark) { $0.bind(1, id).bind(2, mark).bind(3, old) }
    }

    // MARK: Use

    /// Sets whether an entry is pinned. A pinned entry does not count as expired, and keeps its place in the order of use.
    func save(isPinned: Bool, of id: Int64) throws(StoreError) {
        try run("UPDATE access SET pinned = ?2 WHERE entry = ?1") { $0.bind(1, id).bind(2, isPinned ? 1 : 0) }
        if isPinned { try run("UPDATE entries SET expires = NULL WHERE id = ?1") { $0.bind(1, id) } }
    }

    func isPinned(_ id: Int64) throws(StoreError) -> Bool {
        try first("SELECT pinned FROM access WHERE entry = ?1", { $0.bind(1, id) }) { $0.integer(0) != 0 } ?? false
    }

    func noteUse(of id: Int64, sequence: Int64, date: Int64) throws(StoreError) {
        try run(.touch) { $0.bind(1, id).bind(2, sequence).bind(3, date) }
    }

    /// The least recently used entries that no run holds.
    func longestUnused(limit: Int64) throws(StoreError) -> [EvictionCandidate] {
        try rows(.longestUnused, { $0.bind(1, limit) }, row: EvictionCandidate.init)
    }

    /// Some entries with their places in the order of use, the least recently used first.
    ///
    /// - Parameters:
    ///   - last: The place behind which they begin.
    ///   - end: The place before which they end.
    ///   - sparingPins: True to leave out pinned entries.
    func byUse(
        after last: Int64, before end: Int64, sparingPins: Bool, limit: Int64
    ) throws(StoreError) -> [(entry: EvictionCandidate, place: Int64)] {
        try rows(
            sparingPins ? .unpinnedByUse : .allByUse, { $0.bind(1, limit).bind(2, last).bind(3, end) },
            row: { (EvictionCandidate($0), $0.integer(3)) })
    }

    /// The numbers of some entries, in order.
    ///
    /// - Parameter sparingPins: True to leave out pinned entries.
    func numbers(
        after last: Int64, before end: Int64, sparingPins: Bool, limit: Int64
    ) throws(StoreError) -> [Int64] {
        try rows(.numbers, { $0.bind(1, last).bind(2, end).bind(3, sparingPins ? 0 : 1).bind(4, limit) }) {
            $0.integer(0)
        }
    }

    // MARK: Useless entries

    /// The entries that are no longer useful and not held by a run, longest expired first.
    func expired(at now: Int64, limit: Int64) throws(StoreError) -> [EvictionCandidate] {
        try rows(.expired, { $0.bind(1, now).bind(2, limit) }, row: EvictionCandidate.init)
    }

    /// Entries for other versions of the application than this one.
    func entries(ofOtherVersionsThan version: String, limit: Int64) throws(StoreError) -> [Int64] {
        try rows(.ofOtherVersions, { $0.bind(1, version).bind(2, limit) }) { $0.integer(0) }
    }

    /// Values of the format's type in other versions of it.
    func entries(ofOtherFormatsThan format: ValueFormat, limit: Int64) throws(StoreError) -> [Int64] {
        try rows(.ofOtherFormats, { $0.bind(1, format.type).bind(2, format.version).bind(3, limit) }) { $0.integer(0) }
    }

    /// Numbers and dates of entries that are not pinned, ordered by number, which is nearly the order of the dates.
    func dates(after id: Int64, limit: Int64) throws(StoreError) -> [(id: Int64, created: Int64)] {
        try rows(.createdBefore, { $0.bind(1, id).bind(2, limit) }) { ($0.integer(0), $0.integer(1)) }
    }
}

extension EvictionCandidate {
    init(_ row: Statement) {
        self.init(id: row.integer(0), allocated: row.integer(1), lastUse: row.integer(2))
    }
}

extension Statement {
    /// Binds a key to the first two parameters.
    @discardableResult
    fileprivate func bind(_ key: EntryKey) -> Statement { bind(1, keyHash(key)).bind(2, key.value) }
}

extension StoredEntry {
    /// - Parameter key: The key if it is known; nil to read it from the row.
    fileprivate init(_ row: Statement, key known: EntryKey? = nil, withAccess: Bool) {
        id = row.integer(0)
        key = known ?? EntryKey(row.text(1))
        variant = row.text(2)
        url = row.text(3)
        size = row.integer(4)
        allocated = row.integer(5)
        metadata = row.bytes(6)
        created = Date(milliseconds: row.integer(7))
        checksum = row.checksum(8)
        boot = row.integer(9)
        lastAccess = withAccess ? Date(milliseconds: row.integer(10)) : nil
        accessSequence = withAccess ? row.integer(11) : nil
    }
}

extension Query {
    private static let columns =
        "e.id, e.key, e.variant, e.url, e.size, e.allocated, e.metadata, e.created, e.checksum, e.boot"
    private static let selectEntry =
        "SELECT \(columns), a.date, a.sequence FROM entries e JOIN access a ON a.entry = e.id"
    private static let selectVariants = "SELECT \(columns) FROM entries e WHERE e.key_hash = ?1 AND e.key = ?2"
    /// Without the access date, which a hit does not need: in a large index its row is one more page to read.
    fileprivate static let entriesByKey: Query = "\(selectVariants)"
    fileprivate static let entriesByKeyWithAccess: Query = "\(selectEntry) WHERE e.key_hash = ?1 AND e.key = ?2"
    fileprivate static let entryByID: Query = "\(selectEntry) WHERE e.id = ?1"
    fileprivate static let entryExists: Query = "SELECT 1 FROM entries WHERE id = ?1"
    fileprivate static let urlsBefore: Query = "SELECT id, url FROM entries WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
    fileprivate static let someByKey: Query = "\(selectVariants) LIMIT ?3"
    fileprivate static let entryByVariant: Query = "\(selectVariants) AND e.variant = ?3"
    fileprivate static let entryAfterVariant: Query = "\(selectVariants) AND e.variant > ?3 ORDER BY e.variant LIMIT 1"
    fileprivate static let variantCount: Query = "SELECT count(*) FROM entries WHERE key_hash = ?1"
    fileprivate static let oldestVariants: Query = """
        SELECT e.id FROM entries e JOIN access a ON a.entry = e.id WHERE e.key_hash = ?1 AND e.key = ?2
        ORDER BY a.sequence LIMIT ?3
        """
    fileprivate static let updateVariant: Query = "UPDATE entries SET variant = ?2 WHERE id = ?1"
    fileprivate static let insertEntry: Query = """
        INSERT INTO entries (id, key_hash, key, variant, url, size, allocated, checksum, boot, created, metadata,
        expires, version, value_type, value_version, sha256)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        """
    fileprivate static let entrySize: Query = "SELECT allocated FROM entries WHERE id = ?1"
    fileprivate static let deleteEntry: Query = "DELETE FROM entries WHERE id = ?1"
    fileprivate static let updateMetadata: Query = "UPDATE entries SET metadata = ?2 WHERE id = ?1"
    fileprivate static let updateMark: Query = "UPDATE entries SET boot = ?2 WHERE id = ?1"
    fileprivate static let replaceMark: Query = "UPDATE entries SET boot = ?2 WHERE id = ?1 AND boot = ?3"
    fileprivate static let insertAccess: Query =
        "INSERT OR REPLACE INTO access (entry, sequence, date) VALUES (?1, ?2, ?3)"
    fileprivate static let deleteAccess: Query = "DELETE FROM access WHERE entry = ?1"
    fileprivate static let touch: Query = "UPDATE access SET sequence = ?2, date = ?3 WHERE entry = ?1"
    static let longestUnused: Query = """
        SELECT e.id, e.allocated, a.date FROM access a JOIN entries e ON e.id = a.entry
        WHERE a.pinned = 0 AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id)
        ORDER BY a.sequence LIMIT ?1
        """
    private static let selectByUse = """
        SELECT e.id, e.allocated, a.date, a.sequence FROM access a JOIN entries e ON e.id = a.entry
        WHERE a.sequence > ?2 AND a.sequence < ?3 AND a.pinned =
        """
    fileprivate static let unpinnedByUse: Query = "\(selectByUse) 0 ORDER BY a.sequence LIMIT ?1"
    /// Both parts are in order, and are merged.
    fileprivate static let allByUse: Query =
        "\(selectByUse) 0 UNION ALL \(selectByUse) 1 ORDER BY a.sequence LIMIT ?1"
    fileprivate static let numbers: Query = """
        SELECT entry FROM access WHERE entry > ?1 AND entry < ?2 AND +pinned <= ?3 ORDER BY entry LIMIT ?4
        """
    fileprivate static let expired: Query = """
        SELECT e.id, e.allocated, a.date FROM entries e JOIN access a ON a.entry = e.id
        WHERE e.expires IS NOT NULL AND e.expires <= ?1
        AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id) ORDER BY e.expires LIMIT ?2
        """
    fileprivate static let ofOtherVersions: Query = """
        SELECT id FROM entries WHERE version IS NOT NULL AND (version < ?1 OR version > ?1) LIMIT ?2
        """
    fileprivate static let ofOtherFormats: Query = """
        SELECT id FROM entries WHERE value_type = ?1 AND (value_version < ?2 OR value_version > ?2) LIMIT ?3
        """
    fileprivate static let createdBefore: Query = """
        SELECT id, created FROM entries e
        WHERE id > ?1 AND NOT EXISTS (SELECT 1 FROM access a WHERE a.entry = e.id AND a.pinned = 1)
        ORDER BY id LIMIT ?2
        """
    fileprivate static let bySHA256: Query = "SELECT \(columns) FROM entries e WHERE e.sha256 = ?1 LIMIT ?2"
}
