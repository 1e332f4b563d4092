/// Version 3 to 4: lists and pins.
extension SchemaMigration {
    static let version4 = """
        \(ListSchema.tables)
        \(PinSchema.tables)
        ALTER TABLE access ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
        DROP INDEX access_by_sequence;
        CREATE INDEX access_by_sequence ON access (pinned, sequence);
        """
}
