/// Version 3 to 4: the store knows which bodies are of no use any more.
extension SchemaMigration {
    static let expiryAndVersions = """
        ALTER TABLE entries ADD COLUMN expires INTEGER;
        ALTER TABLE entries ADD COLUMN version TEXT;
        CREATE INDEX entries_by_expiry ON entries (expires) WHERE expires IS NOT NULL;
        CREATE INDEX entries_by_version ON entries (version) WHERE version IS NOT NULL;
        """
}
