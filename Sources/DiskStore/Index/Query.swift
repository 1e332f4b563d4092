/// The statements that are used more than once by a connection.
enum Query: Int, CaseIterable {
    case begin, beginReading, commit, rollback
    case totals, saveTotals, pageCount, freePages
    case insertHold, deleteHolds, holders, nextRun
    case entriesByKey, entriesByKeyWithAccess, entryByID, entryExists, urlsBefore
    case someByKey, entryByVariant, entryAfterVariant, variantCount, oldestVariants, updateVariant
    case insertEntry, entrySize, deleteEntry, updateMetadata, updateMark, replaceMark
    case insertAccess, deleteAccess, touch, longestUnused, expired, ofOtherVersions, ofOtherFormats, createdBefore
    case bySHA256
    case insertDoomed, doomedSize, deleteDoomed, doomed
    case folder, saveFolder
    case setting, saveSetting, deleteSetting
    case insertPartial, reservation, deletePartial, updateClaim, updateReserved, disownPartial
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
        case .beginReading: "BEGIN"
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
        // Without the access date: in a large index its row is one more page to read, and a hit does not need it.
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
            INSERT INTO entries (id, key_hash, key, variant, url, size, allocated, checksum, boot, created, metadata,
            expires, version, value_type, value_version, sha256)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
            """
        case .entrySize: "SELECT allocated FROM entries WHERE id = ?1"
        case .deleteEntry: "DELETE FROM entries WHERE id = ?1"
        case .updateMetadata: "UPDATE entries SET metadata = ?2 WHERE id = ?1"
        case .updateMark: "UPDATE entries SET boot = ?2 WHERE id = ?1"
        case .replaceMark: "UPDATE entries SET boot = ?2 WHERE id = ?1 AND boot = ?3"
        case .insertAccess: "INSERT OR REPLACE INTO access (entry, sequence, date) VALUES (?1, ?2, ?3)"
        case .deleteAccess: "DELETE FROM access WHERE entry = ?1"
        case .touch: "UPDATE access SET sequence = ?2, date = ?3 WHERE entry = ?1"
        case .longestUnused:
            """
            SELECT e.id, e.allocated, a.date FROM access a JOIN entries e ON e.id = a.entry
            WHERE a.pinned = 0 AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id)
            ORDER BY a.sequence LIMIT ?1
            """
        case .expired: Catalogue.expired
        case .ofOtherVersions: Catalogue.ofOtherVersions
        case .ofOtherFormats: Catalogue.ofOtherFormats
        case .bySHA256: "SELECT \(Self.columns) FROM entries e WHERE e.sha256 = ?1 LIMIT ?2"
        case .createdBefore: Catalogue.createdBefore
        case .insertDoomed: "INSERT OR REPLACE INTO doomed (id, allocated) VALUES (?1, ?2)"
        case .doomedSize: "SELECT allocated FROM doomed WHERE id = ?1"
        case .deleteDoomed: "DELETE FROM doomed WHERE id = ?1"
        case .doomed: "SELECT id FROM doomed WHERE id > ?1 ORDER BY id LIMIT ?2"
        case .folder: "SELECT allocated FROM folders WHERE id = ?1"
        case .saveFolder: "INSERT OR REPLACE INTO folders (id, allocated) VALUES (?1, ?2)"
        case .setting: "SELECT value FROM settings WHERE name = ?1"
        case .saveSetting: "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)"
        case .deleteSetting: "DELETE FROM settings WHERE name = ?1"
        case .insertPartial:
            "INSERT INTO partials (id, claim, key_hash, key, reserved, updated) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        case .reservation: "SELECT reserved FROM partials WHERE id = ?1"
        case .deletePartial: "DELETE FROM partials WHERE id = ?1"
        case .updateClaim: "UPDATE partials SET claim = ?2, updated = ?3 WHERE id = ?1"
        case .updateReserved: "UPDATE partials SET reserved = ?2, updated = ?3 WHERE id = ?1"
        // Keys are never empty.
        case .disownPartial: "UPDATE partials SET key_hash = 0, key = '' WHERE id = ?1"
        case .partialByID: "\(Self.selectPartial) WHERE id = ?1"
        case .partialsByKey: "\(Self.selectPartial) WHERE key_hash = ?1 AND key = ?2 ORDER BY updated DESC"
        case .partialsByAge: "\(Self.selectPartial) ORDER BY updated, id"
        }
    }
}
