/// What the index file says of itself, and how its tables look.
enum Schema {
    /// "imgc": SQLite's header field by which the file is known to be ours.
    static let applicationID: Int64 = 0x696D_6763
    /// Raised with every change of the tables; a higher one than ours is never opened. An older one is migrated, which
    /// needs a step in `SchemaMigration.steps`.
    static let version: Int64 = 3
    /// The versions that can be read where the index cannot be written, and so not migrated: see `readableCopy(of:)`.
    static let readableVersions: ClosedRange<Int64> = 1...3

    /// * `entries` grows at its end, because numbers are given out in ascending order: a commit at a million entries
    ///   dirties as many pages as one at a thousand. Keys are found by hash, so the index on them stays narrow; a key's
    ///   variants stand in it in order, so that one is found among many without reading the others.
    /// * `access` is apart from `entries`, so that noting an access rewrites 23 bytes and not a row with its metadata.
    /// * `totals` has one row. It changes in the same transaction as the rows that it sums up.
    ///   `held` is what the entries in `holds` occupy, `capacity` what was last asked for, 0 while nobody has.
    /// * `holds` has the bodies whose files must stay until a run ends: see `Index+Holds`.
    /// * `settings` holds what the store remembers of itself: see `StoreSetting`.
    static let tables = """
        CREATE TABLE entries (
            id INTEGER PRIMARY KEY,
            key_hash INTEGER NOT NULL,
            key TEXT NOT NULL,
            variant TEXT NOT NULL,
            url TEXT NOT NULL,
            size INTEGER NOT NULL,
            allocated INTEGER NOT NULL,
            checksum BLOB NOT NULL,
            boot INTEGER NOT NULL,
            created INTEGER NOT NULL,
            metadata BLOB NOT NULL
        );
        CREATE INDEX entries_by_key ON entries (key_hash, variant);
        CREATE TABLE access (
            entry INTEGER PRIMARY KEY,
            sequence INTEGER NOT NULL,
            date INTEGER NOT NULL
        );
        CREATE INDEX access_by_sequence ON access (sequence);
        CREATE TABLE partials (
            id INTEGER PRIMARY KEY,
            claim INTEGER NOT NULL,
            key_hash INTEGER NOT NULL,
            key TEXT NOT NULL,
            reserved INTEGER NOT NULL,
            updated INTEGER NOT NULL
        );
        CREATE INDEX partials_by_key ON partials (key_hash);
        CREATE TABLE doomed (
            id INTEGER PRIMARY KEY,
            allocated INTEGER NOT NULL
        );
        CREATE TABLE folders (
            id INTEGER PRIMARY KEY,
            allocated INTEGER NOT NULL
        );
        CREATE TABLE totals (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            entries INTEGER NOT NULL,
            bodies INTEGER NOT NULL,
            partials INTEGER NOT NULL,
            doomed INTEGER NOT NULL,
            folders INTEGER NOT NULL,
            next_number INTEGER NOT NULL,
            next_sequence INTEGER NOT NULL,
            swept INTEGER NOT NULL,
            has_strangers INTEGER NOT NULL,
            held INTEGER NOT NULL DEFAULT 0,
            capacity INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE holds (
            entry INTEGER NOT NULL,
            run INTEGER NOT NULL,
            allocated INTEGER NOT NULL,
            PRIMARY KEY (entry, run)
        ) WITHOUT ROWID;
        CREATE INDEX holds_by_run ON holds (run);
        CREATE TABLE settings (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) WITHOUT ROWID;
        """
}

/// Every statement that is used more than once in a connection's life.
enum Query: Int, CaseIterable {
    case begin, beginRead, commit, rollback
    case totals, saveTotals, pageCount, freePages
    case insertHold, deleteHolds, holders, nextRun
    case entriesByKey, entriesByKeyWithAccess, entryByID, entryExists, urlsBefore
    case someByKey, entryByVariant, entryAfterVariant, variantCount, oldestVariants, updateVariant
    case insertEntry, deleteEntry, updateMetadata, updateBoot
    case insertAccess, deleteAccess, touch, oldest, oldestBefore
    case insertDoomed, deleteDoomed, doomed, isDoomed
    case folder, saveFolder
    case setting, saveSetting, deleteSetting
    case insertPartial, deletePartial, updateClaim, updateReserved, disownPartial
    case partialByID, partialsByKey, partialsByAge

    private static let columns =
        "e.id, e.key, e.variant, e.url, e.size, e.allocated, e.metadata, e.created, e.checksum, e.boot"
    private static let selectEntry =
        "SELECT \(columns), a.date, a.sequence FROM entries e JOIN access a ON a.entry = e.id"
    private static let selectVariants = "SELECT \(columns) FROM entries e WHERE e.key_hash = ?1 AND e.key = ?2"
    private static let selectPartial = "SELECT id, claim, key, reserved, updated FROM partials"

    var text: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .beginRead: "BEGIN"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .totals:
            """
            SELECT entries, bodies, partials, doomed, folders, next_number, next_sequence, swept, has_strangers, held,
            capacity FROM totals WHERE id = 1
            """
        case .saveTotals:
            """
            UPDATE totals SET entries = ?1, bodies = ?2, partials = ?3, doomed = ?4, folders = ?5, next_number = ?6,
            next_sequence = ?7, swept = ?8, has_strangers = ?9, held = ?10, capacity = ?11 WHERE id = 1
            """
        case .insertHold: "INSERT OR IGNORE INTO holds (entry, run, allocated) VALUES (?1, ?2, ?3)"
        case .deleteHolds:
            """
            DELETE FROM holds WHERE run = ?1 AND entry IN (SELECT entry FROM holds WHERE run = ?1 LIMIT ?2)
            RETURNING entry, allocated
            """
        case .holders: "SELECT run FROM holds WHERE entry = ?1"
        case .nextRun: "SELECT run FROM holds WHERE run > ?1 ORDER BY run LIMIT 1"
        case .pageCount: "PRAGMA page_count"
        case .freePages: "PRAGMA freelist_count"
        // Without the access date: in a large index its row is one more page to fetch, and a hit has no use for it.
        case .entriesByKey: Self.selectVariants
        case .entriesByKeyWithAccess: "\(Self.selectEntry) WHERE e.key_hash = ?1 AND e.key = ?2"
        case .entryByID: "\(Self.selectEntry) WHERE e.id = ?1"
        case .entryExists: "SELECT 1 FROM entries WHERE id = ?1"
        case .urlsBefore: "SELECT id, url FROM entries WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
        case .someByKey: "\(Self.selectVariants) LIMIT ?3"
        case .entryByVariant: "\(Self.selectVariants) AND e.variant = ?3"
        case .entryAfterVariant: "\(Self.selectVariants) AND e.variant > ?3 ORDER BY e.variant LIMIT 1"
        case .variantCount: "SELECT count(*) FROM entries WHERE key_hash = ?1"
        case .oldestVariants:
            """
            SELECT e.id FROM entries e JOIN access a ON a.entry = e.id WHERE e.key_hash = ?1 AND e.key = ?2
            ORDER BY a.sequence LIMIT ?3
            """
        case .updateVariant: "UPDATE entries SET variant = ?2 WHERE id = ?1"
        case .insertEntry:
            """
            INSERT INTO entries (id, key_hash, key, variant, url, size, allocated, checksum, boot, created, metadata)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """
        case .deleteEntry: "DELETE FROM entries WHERE id = ?1 RETURNING allocated"
        case .updateMetadata: "UPDATE entries SET metadata = ?2 WHERE id = ?1"
        case .updateBoot: "UPDATE entries SET boot = ?2 WHERE id = ?1"
        case .insertAccess: "INSERT OR REPLACE INTO access (entry, sequence, date) VALUES (?1, ?2, ?3)"
        case .deleteAccess: "DELETE FROM access WHERE entry = ?1"
        case .touch: "UPDATE access SET sequence = ?2, date = ?3 WHERE entry = ?1"
        case .oldest:
            """
            SELECT e.id, e.allocated, a.date FROM access a JOIN entries e ON e.id = a.entry
            WHERE NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id) ORDER BY a.sequence LIMIT ?1
            """
        case .oldestBefore:
            """
            SELECT e.id, e.allocated, a.sequence FROM access a JOIN entries e ON e.id = a.entry
            WHERE a.sequence > ?1 AND a.date < ?2 ORDER BY a.sequence LIMIT ?3
            """
        case .insertDoomed: "INSERT OR REPLACE INTO doomed (id, allocated) VALUES (?1, ?2)"
        case .deleteDoomed: "DELETE FROM doomed WHERE id = ?1 RETURNING allocated"
        case .doomed: "SELECT id FROM doomed WHERE id > ?1 ORDER BY id LIMIT ?2"
        case .isDoomed: "SELECT 1 FROM doomed WHERE id = ?1"
        case .folder: "SELECT allocated FROM folders WHERE id = ?1"
        case .saveFolder: "INSERT OR REPLACE INTO folders (id, allocated) VALUES (?1, ?2)"
        case .setting: "SELECT value FROM settings WHERE name = ?1"
        case .saveSetting: "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)"
        case .deleteSetting: "DELETE FROM settings WHERE name = ?1"
        case .insertPartial:
            "INSERT INTO partials (id, claim, key_hash, key, reserved, updated) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        case .deletePartial: "DELETE FROM partials WHERE id = ?1 RETURNING reserved"
        case .updateClaim: "UPDATE partials SET claim = ?2, updated = ?3 WHERE id = ?1"
        case .updateReserved: "UPDATE partials SET reserved = ?2, updated = ?3 WHERE id = ?1"
        // No key has an empty text.
        case .disownPartial: "UPDATE partials SET key_hash = 0, key = '' WHERE id = ?1"
        case .partialByID: "\(Self.selectPartial) WHERE id = ?1"
        case .partialsByKey: "\(Self.selectPartial) WHERE key_hash = ?1 AND key = ?2 ORDER BY updated DESC"
        case .partialsByAge: "\(Self.selectPartial) ORDER BY updated, id"
        }
    }
}
