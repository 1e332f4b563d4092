/// The tables of lists: ids that a server lists, and their records.
///
/// * `lists` has one row a list. `revision` is the array of ids that holds; `staging` names the sync that prepares the next one, 0
///   while there is none; `change` counts the records that were stored.
/// * `list_items` has the ids. An item belongs to the revisions from `since` on, and before `until`: a new array is
///   written next to the old one in small transactions, and one change of `lists.revision` takes it over, removals included.
///   `age` orders them newest first: the modification time, negated, where the server tells it.
///   A `since` or `until` above `lists.revision`, except the `until` of `open`, is staged. Only the sync whose token is `staging`
///   writes such values, and the next sync undoes all of them before it writes its own. An id has at most one row with one `until`,
///   so at most one that is listed.
///   Queries write `+since`, so that SQLite does not search by `list_items_by_since`, which serves the undoing alone: nearly all rows of a
///   list have begun.
/// * `list_records` has the records, `sort_key` as `ListSortKey` encodes it. The record of an id that the revision does not have is
///   found by nobody, and deleted later.
/// * `list_pending` has the ids whose records are to be fetched, those first that were tried least, then the newest. `since` is the
///   revision that asked for the record, `renewed` a later one that asked again, or 0. Both may be staged.
/// * `list_totals` estimates what all this takes in the index: eviction cannot free it. Triggers keep it, whoever deletes.
/// * `list_garbage` has lists that were removed and whose rows are still there.
enum ListSchema {
    /// The `until` of an item that is still listed.
    static let open = Int64.max

    static let tables = """
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
        CREATE UNIQUE INDEX list_items_by_id ON list_items (list, id, until);
        CREATE INDEX list_items_by_since ON list_items (list, since);
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
            renewed INTEGER NOT NULL DEFAULT 0,
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
        """
}
