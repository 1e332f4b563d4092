import DiskStore
import JSONParsing
import TextIdentity

/// A page of records from the server: the requested records, and the ids without one.
struct ListPage {
    private(set) var records: [NewListRecord] = []
    private(set) var missing: [PendingItem] = []

    /// - Parameters:
    ///   - body: An array of objects with an `id`, or an object by id.
    ///   - asked: The requested ids.
    /// - Throws: ``JSONFault``.
    init(_ body: UnsafeRawBufferPointer, asked: [PendingItem], sortKey: JSONPointer?) throws {
        var matching = Matching(asked)
        var elements = JSONElements()
        func take(_ element: JSONElement) throws {
            let asked: PendingItem
            let id = try Self.id(of: element)
            do throws(UnexpectedRecord) { asked = try matching.item(id) } catch {
                throw JSONFault(reason: error.description, place: element.place)
            }
            guard String(validating: element.value, as: UTF8.self) != nil else {
                throw JSONFault(reason: "a record is not UTF-8", place: element.place)
            }
            // `null` means that there is no record.
            guard !element.value.elementsEqual("null".utf8) else { return }
            matching.add(
                NewListRecord(asked: asked, sortKey: Self.key(of: element.value, at: sortKey), body: element.value))
        }
        try elements.append(body, take)
        try elements.end()
        (records, missing) = (matching.records, matching.missing)
    }

    /// - Parameters:
    ///   - found: The records of the page, extracted by the source.
    ///   - asked: The requested ids.
    /// - Throws: ``UnexpectedRecord``.
    init(_ found: [(id: String, body: [UInt8])], asked: [PendingItem]) throws(UnexpectedRecord) {
        var matching = Matching(asked)
        for record in found {
            matching.add(NewListRecord(asked: try matching.item(record.id), sortKey: .none, body: record.body))
        }
        (records, missing) = (matching.records, matching.missing)
    }

    /// The page has a record that was not requested.
    struct UnexpectedRecord: Error, CustomStringConvertible {
        var id: String

        var description: String { "the page has the record \"\(id.prefix(60))\", which was not asked for" }
    }

    /// Matches the records of a page with the requested ids.
    private struct Matching {
        private let asked: [PendingItem]
        private let items: [ByteText: PendingItem]
        private(set) var records: [NewListRecord] = []
        private var brought: Set<ByteText> = []

        init(_ asked: [PendingItem]) {
            self.asked = asked
            items = Dictionary(asked.map { ($0.item.id.asBytes, $0) }) { $1 }
        }

        func item(_ id: String) throws(UnexpectedRecord) -> PendingItem {
            guard let item = items[id.asBytes] else { throw UnexpectedRecord(id: id) }
            return item
        }

        /// If the page has several records with one id, the first one is used.
        mutating func add(_ record: NewListRecord) {
            if brought.insert(record.item.id.asBytes).inserted { records.append(record) }
        }

        var missing: [PendingItem] { asked.filter { !brought.contains($0.item.id.asBytes) } }
    }

    private static func id(of element: JSONElement) throws -> String {
        if let name = element.name { return name }
        guard let id = JSONText.members(element.value)?.last(where: { $0.name == "id" }).flatMap({ JSONID($0.value) })
        else { throw JSONFault(reason: "an object with an \"id\" is expected", place: element.place) }
        return id.text
    }

    private static func key(of record: [UInt8], at pointer: JSONPointer?) -> ListSortKey {
        guard let value = pointer?.value(in: record) else { return .none }
        if let text = JSONText.string(value) { return .text(text) }
        guard JSONText.isNumber(value), let number = Double(String(decoding: value, as: UTF8.self)) else {
            return .none
        }
        return .number(number)
    }

    /// Adds to the records the files that they name.
    mutating func addFiles(_ files: (NewListRecord) -> [NewPin]) {
        for index in records.indices { records[index].files = files(records[index]) }
    }
}
