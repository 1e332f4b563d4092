import Units

// Eviction cannot free the space of pins, so a set that does not fit as a whole is refused.

extension Index {
    /// The upper bound of a size, so that sums cannot overflow.
    private static let most = Int64.max / 8

    /// Rejects a set that cannot fit in addition to the other pins. It uses the sizes of stored entries, and the sizes that the set
    /// states. Runs inside the transaction that creates the set, which then fails.
    func checkFits(_ set: PinSetState, members: [NewPin], _ totals: Totals) throws(StoreError) {
        let catalogue = try catalogue()
        var announced: [EntryKey: Int64] = [:]
        for member in members {
            if let size = member.size {
                announced[member.key] = Budget.rounded(max(0, min(size, Self.most)))
            }
        }
        var missing: Int64 = 0
        for (key, size) in announced where try catalogue.entries.variants(of: key, limit: 1).isEmpty {
            missing = min(missing + size, Self.most)
        }
        let room = try usage(totals).largestBody
        guard try catalogue.holds.pinnedBytes() + missing > room else { return }
        let lack = try lackOfRoom(for: set, room: room)
        throw StoreError(.held, lack.message(announced: missing), path: paths.root)
    }

    /// - Parameter room: The bytes of the capacity that bodies may occupy.
    func lackOfRoom(for set: PinSetState, room: Int64) throws(StoreError) -> PinRoomLack {
        let catalogue = try catalogue()
        let state = try catalogue.pins.count(set)
        let others = max(0, try catalogue.holds.pinnedBytes() - state.allocated)
        return PinRoomLack(set: state, otherPins: others, capacity: budget.capacity, room: room)
    }
}

/// The figures of a set that does not fit.
struct PinRoomLack {
    let set: PinSetState
    /// The bytes that other sets pin, on disk.
    let otherPins: Int64
    let capacity: Int64
    /// The bytes of the capacity that bodies may occupy.
    let room: Int64

    /// - Parameter announced: The sizes of the files that are not stored yet, in bytes on disk.
    func message(announced: Int64) -> String {
        "\(refusal): it takes \(ByteSize(set.allocated + announced)), \(others), \(limit)"
    }

    /// - Parameters:
    ///   - url: The file that does not fit.
    ///   - bytes: The space that the file needs, in bytes; `nil` if it is not known.
    func message(_ url: String, bytes: Int64?) -> String {
        let file = bytes.map { "\(url) needs \(ByteSize($0))" } ?? "\(url) finds no room"
        let present =
            set.present == 0 ? "" : ", those of its \(set.total) files that are there take \(ByteSize(set.allocated))"
        return "\(refusal): \(file)\(present), \(others), \(limit)"
    }

    private var refusal: String { "the set \(set.name) does not fit, and is not pinned" }
    private var others: String { otherPins == 0 ? "nothing else is pinned" : "other pins take \(ByteSize(otherPins))" }
    private var limit: String {
        "and of the capacity of \(ByteSize(capacity)) files can take \(ByteSize(max(0, room)))"
    }
}
