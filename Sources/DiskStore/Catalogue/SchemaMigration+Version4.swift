/// Version 3 to 4: lists and pins, the expiry, versions and digests of bodies.
extension SchemaMigration {
    static let version4 = """
        \(ListSchema.tables)
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
