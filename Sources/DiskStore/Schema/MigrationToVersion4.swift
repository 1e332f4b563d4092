/// Version 3 to 4: lists and pins, the expiry, versions and digests of bodies.
extension SchemaMigration {
    static let version4 = """
        CREATE TABLE lists (
            id INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            list_group TEXT NOT NULL,
            name TEXT NOT NULL,
            revision INTEGER NOT NULL,
            staging INTEGER NOT NULL,
            change INTEGER NOT NULL,
            items INTEGER NOT NULL,
            checked INTEGER NOT NULL,
            validator TEXT NOT NULL
        );
        CREATE UNIQUE INDEX lists_by_name ON lists (owner, list_group, name);
        CREATE TABLE list_items (
            item INTEGER PRIMARY KEY,
            list INTEGER NOT NULL,
            id TEXT NOT NULL,
            numeric INTEGER NOT NULL,
            position INTEGER NOT NULL,
            age INTEGER NOT NULL,
            modified TEXT NOT NULL,
            since INTEGER NOT NULL,
            until INTEGER NOT NULL
        );
        CREATE INDEX list_items_by_id ON list_items (list, id);
        CREATE INDEX list_items_by_position ON list_items (list, position);
        CREATE INDEX list_items_by_age ON list_items (list, age, position);
        CREATE INDEX list_items_ended ON list_items (list, until) WHERE until < 9223372036854775807;
        CREATE TABLE list_records (
            record INTEGER PRIMARY KEY,
            list INTEGER NOT NULL,
            id TEXT NOT NULL,
            modified TEXT NOT NULL,
            change INTEGER NOT NULL,
            sort_key BLOB NOT NULL,
            body BLOB NOT NULL
        );
        CREATE UNIQUE INDEX list_records_by_id ON list_records (list, id);
        CREATE INDEX list_records_by_key ON list_records (list, sort_key, id);
        CREATE INDEX list_records_by_change ON list_records (list, change);
        CREATE TABLE list_pending (
            list INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            age INTEGER NOT NULL,
            position INTEGER NOT NULL,
            id TEXT NOT NULL,
            since INTEGER NOT NULL,
            PRIMARY KEY (list, attempts, age, position, id)
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX list_pending_by_id ON list_pending (list, id);
        CREATE TABLE list_garbage (
            list INTEGER PRIMARY KEY
        );
        CREATE TABLE list_totals (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            bytes INTEGER NOT NULL
        );
        INSERT INTO list_totals (id, bytes) VALUES (1, 0);
        CREATE TRIGGER list_items_added AFTER INSERT ON list_items BEGIN
            UPDATE list_totals SET bytes = bytes + 160 + 3 * length(new.id);
        END;
        CREATE TRIGGER list_items_deleted AFTER DELETE ON list_items BEGIN
            UPDATE list_totals SET bytes = bytes - 160 - 3 * length(old.id);
        END;
        CREATE TRIGGER list_records_added AFTER INSERT ON list_records BEGIN
            UPDATE list_totals SET bytes = bytes + 160 + 3 * length(new.id) + length(new.sort_key) + length(new.body);
        END;
        CREATE TRIGGER list_records_deleted AFTER DELETE ON list_records BEGIN
            UPDATE list_totals SET bytes = bytes - 160 - 3 * length(old.id) - length(old.sort_key) - length(old.body);
        END;
        \(PinSchema.tables)
        ALTER TABLE access ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
        DROP INDEX access_by_sequence;
        CREATE INDEX access_by_sequence ON access (pinned, sequence);
        ALTER TABLE entries ADD COLUMN expires INTEGER;
        ALTER TABLE entries ADD COLUMN version TEXT;
        ALTER TABLE entries ADD COLUMN value_type TEXT;
        ALTER TABLE entries ADD COLUMN value_version TEXT;
        ALTER TABLE entries ADD COLUMN sha256 BLOB;
        CREATE INDEX entries_by_expiry ON entries (expires) WHERE expires IS NOT NULL;
        CREATE INDEX entries_by_version ON entries (version) WHERE version IS NOT NULL;
        CREATE INDEX entries_by_value ON entries (value_type, value_version) WHERE value_type IS NOT NULL;
        CREATE INDEX entries_by_sha256 ON entries (sha256) WHERE sha256 IS NOT NULL;
        """
}
