/// Version 4 to 5: an id is listed once, and a record settles the request that it was fetched for.
///
/// Version 4 could take rows of an array that broke off over into the next one. Ids were then listed twice or after their
/// removal, and changed records were not pending. The step takes staged rows back, keeps the newest row of each id, queues the
/// records that are missing or of another modification time, and lets the next sync read the whole array.
extension SchemaMigration {
    static let version5 = """
        DELETE FROM list_items WHERE since > (SELECT revision FROM lists WHERE id = list_items.list);
        UPDATE list_items SET until = 9223372036854775807
            WHERE until < 9223372036854775807 AND until > (SELECT revision FROM lists WHERE id = list_items.list);
        DELETE FROM list_pending WHERE since > (SELECT revision FROM lists WHERE id = list_pending.list);
        DELETE FROM list_items WHERE EXISTS (
            SELECT 1 FROM list_items n WHERE n.list = list_items.list AND n.id = list_items.id AND n.until = list_items.until
                AND (n.since, n.item) > (list_items.since, list_items.item));
        DROP INDEX list_items_by_id;
        CREATE UNIQUE INDEX list_items_by_id ON list_items (list, id, until);
        CREATE INDEX list_items_by_since ON list_items (list, since);
        ALTER TABLE list_pending ADD COLUMN renewed INTEGER NOT NULL DEFAULT 0;
        DELETE FROM list_pending WHERE NOT EXISTS (
            SELECT 1 FROM list_items i
            WHERE i.list = list_pending.list AND i.id = list_pending.id AND i.until = 9223372036854775807);
        INSERT OR IGNORE INTO list_pending (list, attempts, age, position, id, since)
            SELECT i.list, 0, i.age, i.position, i.id, l.revision FROM lists l CROSS JOIN list_items i
            LEFT JOIN list_records r ON r.list = i.list AND r.id = i.id
            WHERE i.list = l.id AND i.until = 9223372036854775807 AND (r.id IS NULL OR r.modified <> i.modified);
        INSERT INTO list_items (list, id, numeric, position, age, modified, since, until)
            SELECT r.list, r.id, 0, 0, 0, '', 0, 0 FROM lists l CROSS JOIN list_records r
            WHERE r.list = l.id AND NOT EXISTS (SELECT 1 FROM list_items i WHERE i.list = r.list AND i.id = r.id);
        UPDATE lists SET staging = 0, validator = '', items = (
            SELECT count(*) FROM list_items i WHERE i.list = lists.id AND i.until = 9223372036854775807);
        """
}
