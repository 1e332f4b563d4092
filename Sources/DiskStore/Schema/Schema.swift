/// The marks of the index file and its tables.
enum Schema {
    /// "imgc": the application identifier in SQLite's header.
    static let applicationID: Int64 = 0x696D_6763
    /// Incremented with every change of the tables; a higher version is never opened. An older one is migrated, which
    /// requires a step in `SchemaMigration.steps`.
    static let version: Int64 = 6
    /// The versions that can be read without migration, if the index cannot be written: see `readableCopy(of:)`.
    static let readableVersions: ClosedRange<Int64> = 1...6

    /// * `entries` grows at its end, because numbers ascend: a commit at a million entries dirties as many pages as one at a thousand. Keys
    ///   are found by hash, so the index on them stays narrow. It contains a key's variants in order, so that one is found among many
    ///   without reading the others.
    ///   `expires` is the time at which a body is no longer useful, in milliseconds since 1970, and `version` the application's version of
    ///   it. `value_type` and `value_version` are the type of the value in a body and the version of its format (``ValueFormat``). `sha256`
    ///   is the body's digest if it was verified.
    /// * `blocks` has the checksums of the 256 KiB blocks of an entry's body, 16 bytes each, if a later request could continue the body. With
    ///   them, a damaged body becomes a partial: see ``DiskStore/salvage(_:_:)``.
    /// * `access` is separate from `entries`, so that recording an access rewrites 24 bytes and not a row with its metadata. `pinned` is 1
    ///   for an entry whose key is pinned: an eviction reads only the other entries, in the order of use.
    /// * `totals` has one row. It changes in the same transaction as the rows that it sums up. `held` is the size of the entries in
    ///   `holds`, `capacity` the last configured one, or 0 for none.
    /// * `holds` lists the bodies whose files must remain until a run ends: see `Holds.swift`.
    /// * Lists and pins: see `ListSchema` and `PinSchema`.
    /// * `settings` has values that the store keeps about itself: see `StoreSetting`.
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
            metadata BLOB NOT NULL,
            expires INTEGER,
            version TEXT,
            value_type TEXT,
            value_version TEXT,
            sha256 BLOB
        );
        CREATE INDEX entries_by_key ON entries (key_hash, variant);
        CREATE INDEX entries_by_expiry ON entries (expires) WHERE expires IS NOT NULL;
        CREATE INDEX entries_by_version ON entries (version) WHERE version IS NOT NULL;
        CREATE INDEX entries_by_value ON entries (value_type, value_version) WHERE value_type IS NOT NULL;
        CREATE INDEX entries_by_sha256 ON entries (sha256) WHERE sha256 IS NOT NULL;
        CREATE TABLE blocks (
            entry INTEGER PRIMARY KEY,
            checksums BLOB NOT NULL
        );
        CREATE TRIGGER blocks_deleted AFTER DELETE ON entries WHEN old.size > 262144 BEGIN
            DELETE FROM blocks WHERE entry = old.id;
        END;
        CREATE TABLE access (
            entry INTEGER PRIMARY KEY,
            sequence INTEGER NOT NULL,
            date INTEGER NOT NULL,
            pinned INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX access_by_sequence ON access (pinned, sequence);
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
        \(ListSchema.tables)
        \(PinSchema.tables)
        """
}
