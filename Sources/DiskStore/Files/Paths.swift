import TextIdentity

/// The paths below the cache directory. Paths are constructed nowhere else in the module.
struct Paths: Sendable {
    let root: String

    var index: String { "\(root)/index.sqlite" }
    var log: String { "\(root)/index.sqlite-wal" }
    /// The index's journal, on file systems without a log.
    var journal: String { "\(root)/index.sqlite-journal" }
    var sharedMemory: String { "\(root)/index.sqlite-shm" }
    /// The files that SQLite keeps next to the index.
    var logs: [String] { [log, sharedMemory, journal] }
    /// The path to which an unusable index is moved, for inspection.
    func aside(_ number: Int) -> String { "\(index).aside" + (number == 1 ? "" : "-\(number)") }
    func asideLog(_ number: Int) -> String { aside(number) + "-wal" }
    /// The number of such indexes that are kept.
    static let asides = 1...4
    var locks: String { "\(root)/locks" }
    var generations: String { "\(root)/generations" }
    var tag: String { "\(root)/CACHEDIR.TAG" }
    var bodies: String { "\(root)/bodies" }
    var partials: String { "\(root)/partials" }

    func folder(_ number: Int64) -> String { "\(bodies)/\(Self.hex(number, digits: 2))" }
    func body(_ id: Int64) -> String { "\(folder(Self.folderNumber(of: id)))/\(Self.hex(id))" }
    /// The store of a body, by the path of the body's folder; `nil` for another folder.
    static func store(ofBodiesIn folder: String) -> Paths? {
        guard let parent = folder.splitAtLastSlash?.folder, parent.hasSuffix("/bodies") else { return nil }
        let paths = Paths(root: String(parent.dropLast("/bodies".count)))
        return FileStatus(at: paths.index) == nil ? nil : paths
    }
    func data(_ id: Int64) -> String { "\(partials)/\(Self.hex(id)).data" }
    func record(_ id: Int64, claim: Int64) -> String { "\(partials)/\(Self.hex(id)).\(Self.hex(claim)).record" }

    /// The folder of a body: its number's lowest byte (`Totals.takeNumber`).
    static func folderNumber(of id: Int64) -> Int64 { id & 0xFF }

    static func hex(_ number: Int64, digits: Int = 16) -> String {
        String(unsafeUninitializedCapacity: digits) { buffer in
            var rest = UInt64(bitPattern: number)
            for position in (0..<digits).reversed() {
                let digit = UInt8(truncatingIfNeeded: rest & 0xF)
                buffer[position] = digit < 10 ? 0x30 + digit : 0x61 + digit - 10
                rest >>= 4
            }
            return digits
        }
    }

    /// Parses a number that ``hex(_:digits:)`` wrote in 16 digits; nil for any other text.
    static func number(_ hex: some StringProtocol) -> Int64? {
        guard hex.utf8.count == 16, hex.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) })
        else { return nil }
        return UInt64(hex, radix: 16).map { Int64(bitPattern: $0) }
    }
}

/// The meaning of a name in the folder of partials.
enum PartialFile: Equatable {
    case data(id: Int64)
    case record(id: Int64, claim: Int64)
    /// A small body being written, on file systems without unnamed files.
    case small

    init?(name: String) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard let first = parts.first, let id = Paths.number(first) else { return nil }
        if parts.count == 2, parts[1] == "data" {
            self = .data(id: id)
        } else if parts.count == 3, parts[2] == "record", let claim = Paths.number(parts[1]) {
            self = .record(id: id, claim: claim)
        } else if parts.count == 2, parts[1] == "small" {
            self = .small
        } else {
            return nil
        }
    }
}
