/// The tables of pins: named sets of resources that must stay in the store.
///
/// * `pin_sets` has one row per set. `list` is the list whose records name its members, or 0 for a set that a caller named. `is_new` is 1
///   until the set was complete once. `max_stale` and `interval` are in seconds, or -1 for none.
/// * `pins` has the members. `record` is the id of the record that names the member, and empty in a named set. `checked` is the time of the
///   last successful download in milliseconds since 1970, or 0.
///
/// An entry whose key is pinned has a row in `holds` for the run ``pinRun``, which never ends. Its bytes therefore count as held, and it is
/// never evicted.
enum PinSchema {
    /// The run that holds pinned entries. Runs of processes have other numbers, which begin at 1.
    static let pinRun: Int64 = 0

    static let tables = """
        CREATE TABLE pin_sets (
            id INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            list INTEGER NOT NULL,
            name TEXT NOT NULL,
            max_stale INTEGER NOT NULL,
            interval INTEGER NOT NULL,
            is_new INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX pin_sets_by_name ON pin_sets (owner, list, name);
        CREATE TABLE pins (
            pin INTEGER PRIMARY KEY,
            pin_set INTEGER NOT NULL,
            record TEXT NOT NULL,
            key_hash INTEGER NOT NULL,
            key TEXT NOT NULL,
            url TEXT NOT NULL,
            request BLOB NOT NULL,
            checked INTEGER NOT NULL,
            error TEXT NOT NULL
        );
        CREATE INDEX pins_by_set ON pins (pin_set, record);
        CREATE INDEX pins_by_key ON pins (key_hash);
        """
}

/// Sets of pins and their members: see ``PinSchema``.
struct PinTable: StatementRunner {
    let connection: Connection

    private static let setColumns = "s.id, s.owner, s.name, s.list, s.max_stale, s.interval, s.is_new"
    private static let isPresent = "EXISTS (SELECT 1 FROM entries e WHERE e.key_hash = p.key_hash AND e.key = p.key)"

    // MARK: Sets

    func set(owner: String, name: String) throws(StoreError) -> PinSetState? {
        try first(
            "SELECT \(Self.setColumns) FROM pin_sets s WHERE owner = ?1 AND list = 0 AND name = ?2",
            { $0.bind(1, owner).bind(2, name) }, row: PinSetState.init)
    }

    func set(_ id: Int64) throws(StoreError) -> PinSetState? {
        try first("SELECT \(Self.setColumns) FROM pin_sets s WHERE id = ?1", { $0.bind(1, id) }, row: PinSetState.init)
    }

    /// The set of the files that a list's records name.
    func set(ofList list: Int64) throws(StoreError) -> Int64? {
        try first("SELECT id FROM pin_sets WHERE list = ?1 AND list > 0", { $0.bind(1, list) }, row: { $0.integer(0) })
    }

    /// All sets, except those of removed lists.
    func sets() throws(StoreError) -> [PinSetState] {
        try rows(
            """
            SELECT \(Self.setColumns) FROM pin_sets s
            WHERE NOT EXISTS (SELECT 1 FROM list_garbage g WHERE g.list = s.list)
            ORDER BY owner, list, name
            """, row: PinSetState.init)
    }

    func sets(owner: String) throws(StoreError) -> [Int64] {
        try rows("SELECT id FROM pin_sets WHERE owner = ?1", { $0.bind(1, owner) }, row: { $0.integer(0) })
    }

    func insert(_ set: NewPinSet, list: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO pin_sets (owner, list, name, max_stale, interval, is_new) VALUES (?1, ?2, ?3, ?4, ?5, 1)
            ON CONFLICT (owner, list, name) DO UPDATE SET max_stale = excluded.max_stale, interval = excluded.interval
            """
        ) {
            $0.bind(1, set.owner).bind(2, list).bind(3, set.name).bind(4, set.maxStale).bind(5, set.interval)
        }
    }

    func deleteSet(_ id: Int64) throws(StoreError) {
        try run("DELETE FROM pin_sets WHERE id = ?1") { $0.bind(1, id) }
    }

    func noteComplete(_ id: Int64) throws(StoreError) {
        try run("UPDATE pin_sets SET is_new = 0 WHERE id = ?1") { $0.bind(1, id) }
    }

    /// Returns the set with the numbers of its members and of those that are stored.
    func count(_ set: PinSetState) throws(StoreError) -> PinSetState {
        var set = set
        let id = set.set
        let entry = "FROM entries e WHERE e.key_hash = p.key_hash AND e.key = p.key"
        let counts = try first(
            """
            SELECT count(*), sum(\(Self.isPresent)), sum((SELECT max(size) \(entry))), sum((SELECT sum(allocated) \(entry))),
                min(nullif(p.checked, 0))
            FROM pins p WHERE p.pin_set = ?1
            """, { $0.bind(1, id) },
            row: { row in (0..<5).map { row.integer($0) } })
        if let counts {
            (set.total, set.present, set.bytes, set.allocated) = (counts[0], counts[1], counts[2], counts[3])
            set.oldestCheck = counts[4]
        }
        return set
    }

    // MARK: Members

    func insert(_ pin: NewPin, set: Int64, record: String) throws(StoreError) {
        try run(
            """
            INSERT INTO pins (pin_set, record, key_hash, key, url, request, checked, error)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, '')
            """
        ) {
            $0.bind(1, set).bind(2, record).bind(3, keyHash(pin.key)).bind(4, pin.key.value).bind(5, pin.url)
            $0.bind(6, pin.request)
        }
    }

    /// The members of a set, in the order in which they were added.
    func members(ofSet set: Int64, after pin: Int64, limit: Int64) throws(StoreError) -> [PinMember] {
        try rows(
            """
            SELECT p.pin, p.key, p.url, p.request, p.checked, p.error, \(Self.isPresent), p.record FROM pins p
            WHERE p.pin_set = ?1 AND p.pin > ?2 ORDER BY p.pin LIMIT ?3
            """, { $0.bind(1, set).bind(2, pin).bind(3, limit) }, row: PinMember.init)
    }

    /// The members whose last attempt failed.
    func failedMembers(ofSet set: Int64) throws(StoreError) -> [PinMember] {
        try rows(
            """
            SELECT p.pin, p.key, p.url, p.request, p.checked, p.error, \(Self.isPresent), p.record FROM pins p
            WHERE p.pin_set = ?1 AND p.error <> '' ORDER BY p.pin
            """, { $0.bind(1, set) }, row: PinMember.init)
    }

    func save(checked: Int64?, error: String, ofPin pin: Int64) throws(StoreError) {
        try run("UPDATE pins SET checked = ifnull(nullif(?2, -1), checked), error = ?3 WHERE pin = ?1") {
            $0.bind(1, pin).bind(2, checked ?? -1).bind(3, error)
        }
    }

    /// Deletes the members that a record names, and returns the keys that they had.
    func deleteMembers(ofSet set: Int64, record: String) throws(StoreError) -> [EntryKey] {
        try rows(
            "DELETE FROM pins WHERE pin_set = ?1 AND record = ?2 RETURNING key", { $0.bind(1, set).bind(2, record) },
            row: { EntryKey($0.text(0)) })
    }

    /// Deletes some members, and returns the keys that they had.
    func deleteMembers(ofSet set: Int64, limit: Int64) throws(StoreError) -> [EntryKey] {
        try rows(
            "DELETE FROM pins WHERE pin IN (SELECT pin FROM pins WHERE pin_set = ?1 LIMIT ?2) RETURNING key",
            { $0.bind(1, set).bind(2, limit) }, row: { EntryKey($0.text(0)) })
    }

    func deleteMember(_ pin: Int64) throws(StoreError) {
        try run("DELETE FROM pins WHERE pin = ?1") { $0.bind(1, pin) }
    }

    // MARK: Keys

    func contains(_ key: EntryKey) throws(StoreError) -> Bool {
        try first(
            "SELECT 1 FROM pins WHERE key_hash = ?1 AND key = ?2 LIMIT 1",
            { $0.bind(1, keyHash(key)).bind(2, key.value) }, row: { _ in true }) ?? false
    }

    /// The seconds for which the entries of a key may be stale, by its most permissive set, or -1 if they may not.
    func maxStale(of key: EntryKey) throws(StoreError) -> Int64 {
        try first(
            "SELECT max(s.max_stale) FROM pins p JOIN pin_sets s ON s.id = p.pin_set WHERE p.key_hash = ?1 AND p.key = ?2",
            { $0.bind(1, keyHash(key)).bind(2, key.value) }, row: { $0.isNull(0) ? -1 : $0.integer(0) }) ?? -1
    }
}

extension PinSetState {
    fileprivate init(_ row: Statement) {
        self.init(
            set: row.integer(0), owner: row.text(1), name: row.text(2), list: row.integer(3), maxStale: row.integer(4),
            interval: row.integer(5), isNew: row.integer(6) != 0)
    }
}

extension PinMember {
    fileprivate init(_ row: Statement) {
        self.init(
            pin: row.integer(0), key: EntryKey(row.text(1)), url: row.text(2), request: row.bytes(3),
            checked: row.integer(4), error: row.text(5), isPresent: row.integer(6) != 0, record: row.text(7))
    }
}
