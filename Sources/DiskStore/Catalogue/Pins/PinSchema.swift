/// The tables of pins: named sets of resources that must stay in the store.
///
/// * `pin_sets` has one row per set. `list` is the list whose records name its members, or 0 for a set that a caller named. `is_new` is 1
///   until the set was complete once. `max_stale` and `interval` are in seconds, or -1 for none.
/// * `pins` has the members. `record` is the id of the record that names the member, and empty in a named set. `checked` is the time of the
///   last successful download in milliseconds since 1970, or 0.
///
/// An entry whose key is pinned has a row in `holds` for the run ``pinRun``, which never ends. Its bytes therefore count as held, and it is
/// never evicted.
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
