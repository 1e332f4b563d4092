/// Version 5 to 6: the checksums of the blocks of large bodies are kept. Bodies of earlier versions have none.
extension SchemaMigration {
    static let version6 = """
        CREATE TABLE blocks (
            entry INTEGER PRIMARY KEY,
            checksums BLOB NOT NULL
        );
        CREATE TRIGGER blocks_deleted AFTER DELETE ON entries WHEN old.size > 262144 BEGIN
            DELETE FROM blocks WHERE entry = old.id;
        END;
        """
}
