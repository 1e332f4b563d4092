package import TextIdentity

/// The name of a list, within a group of an owner. Empty texts mean no owner and no group.
package struct ListName: Hashable, Sendable {
    @ByteText package var owner: String
    @ByteText package var group: String
    @ByteText package var name: String

    package init(owner: String, group: String, name: String) {
        _owner = owner.asBytes
        _group = group.asBytes
        _name = name.asBytes
    }
}

/// A list's row, as it was read.
package struct ListState: Sendable, Equatable {
    package let list: Int64
    package let name: ListName
    /// The revision of the current array of ids; 0 before the first one.
    package let revision: Int64
    /// The number of the record that was stored last.
    package let change: Int64
    /// The number of ids in the array.
    package let items: Int64
    /// The time at which the array was last received or confirmed, in milliseconds since 1970; 0 for never.
    package let checked: Int64
    /// The caller's data about the array, stored when the array was activated.
    package let validator: String
}

/// An id that a server lists.
package struct ListedItem: Sendable, Equatable {
    package var id: String
    /// True if the id is a JSON number.
    package var isNumeric: Bool
    /// The modification time as the server wrote it, as JSON, or empty if there is none.
    package var modified: String
    /// The modification time as a number that grows with time, or 0 if there is none.
    package var recency: Int64

    package init(id: String, isNumeric: Bool, modified: String = "", recency: Int64 = 0) {
        self.id = id
        self.isNumeric = isNumeric
        self.modified = modified
        self.recency = recency
    }
}

/// A listed id whose record is to be fetched.
package struct PendingItem: Sendable, Equatable {
    package let item: ListedItem
    package let place: PendingPlace
    /// The revision that requested the record.
    let revision: Int64
}

/// A place in the queue of pending ids.
package struct PendingPlace: Sendable, Equatable {
    package let attempts: Int64
    let age: Int64
    let position: Int64
    let id: String

    /// The position before all ids with that number of attempts.
    package static func first(ofAttempt attempts: Int64) -> PendingPlace {
        PendingPlace(attempts: attempts, age: .min, position: .min, id: "")
    }
}

/// A record to be stored.
package struct NewListRecord: Sendable {
    /// The entry of the queue that the record was fetched for.
    package var asked: PendingItem
    package var sortKey: ListSortKey
    package var body: [UInt8]
    /// The files that the record names. They are pinned as long as the record exists.
    package var files: [NewPin]

    package var item: ListedItem { asked.item }

    package init(asked: PendingItem, sortKey: ListSortKey, body: [UInt8], files: [NewPin] = []) {
        self.asked = asked
        self.sortKey = sortKey
        self.body = body
        self.files = files
    }
}

/// A stored record.
package struct StoredListRecord: Sendable, Equatable {
    package let id: String
    package let isNumeric: Bool
    /// The modification time that the record was fetched for, as JSON; empty for none.
    package let modified: String
    package let body: [UInt8]
    /// The number of the change that stored it.
    package let change: Int64
}

/// The difference between two arrays of a list.
package struct ListDifference: Sendable, Equatable {
    package var added: Int64 = 0
    package var changed: Int64 = 0
    package var removed: Int64 = 0
}

/// A key that records are sorted by, encoded so that the order of bytes is the order of keys: numbers by value, then texts by their
/// bytes, then records without a key.
package struct ListSortKey: Sendable, Hashable {
    package let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// A key from its ``bytes``.
    package init(encoded bytes: [UInt8]) { self.bytes = bytes }

    package static let none = ListSortKey(bytes: [3])

    package static func text(_ text: String) -> ListSortKey { ListSortKey(bytes: [2] + Array(text.utf8)) }

    /// Not-a-number counts as no key.
    package static func number(_ number: Double) -> ListSortKey {
        if number.isNaN { return none }
        // IEEE 754: with the sign bit inverted, and all bits of negative numbers, bit patterns have the order of the numbers.
        let pattern = (number == 0 ? 0.0 : number).bitPattern
        let ordered = pattern >> 63 == 0 ? pattern | 1 << 63 : ~pattern
        return ListSortKey(bytes: [1] + (0..<8).map { UInt8(truncatingIfNeeded: ordered >> (56 - 8 * UInt64($0))) })
    }
}
