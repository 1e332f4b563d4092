/// The tables of pins: named sets of what must stay in the store.
///
/// * `pin_sets` has one row a set; `list` is the list whose records name its members, 0 for a set that a caller named. `is_new` is 1
///   until all of the set was there once. `max_stale` and `interval` are in seconds, -1: none.
/// * `pins` has the members. `record` is the id of the record that names the member, empty in a named set. `checked` is the time
///   of the last download that worked, in milliseconds since 1970, 0 before.
///
/// An entry whose key is pinned has a row in `holds` for the run ``pinRun``, which never ends: so its bytes count as held, and eviction
/// spares it.
enum PinSchema {
    /// The run that holds pinned entries. No process uses this number: those of processes begin at 1.
    static let pinRun: Int64 = 0

    static let tables = """
        CREATE TABLE pin_sets (
            id INTEGER PRIMARY KEY,
            owner TEXT NOT NULL,
            list INTEGER NOT NULL,
            name TEXT NOT NULL,
            max_stale INTEGER NOT NULL,
            interval INTEGER NOT NULL,
            is_new INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX pin_sets_by_name ON pin_sets (owner, list, name);
        CREATE TABLE pins (
            pin INTEGER PRIMARY KEY,
            pin_set INTEGER NOT NULL,
            record TEXT NOT NULL,
            key_hash INTEGER NOT NULL,
            key TEXT NOT NULL,
            url TEXT NOT NULL,
            request BLOB NOT NULL,
            checked INTEGER NOT NULL,
            error TEXT NOT NULL
        );
        CREATE INDEX pins_by_set ON pins (pin_set, record);
        CREATE INDEX pins_by_key ON pins (key_hash);
        """
}
