import DiskStore

/// A page of records as the server sent it: those that were asked for, and those that are missing.
struct ListPage {
    private(set) var records: [NewListRecord] = []
    private(set) var missing: [PendingItem] = []

    /// - Parameters:
    ///   - body: An array of objects with an `id`, or an object by id.
    ///   - asked: The ids that were asked for.
    /// - Throws: ``JSONFault``.
    init(_ body: UnsafeRawBufferPointer, asked: [PendingItem], sortKey: JSONPointer?) throws {
        var waiting: [String: PendingItem] = [:]
        for item in asked { waiting[item.item.id] = item }
        var brought: Set<String> = []
        var found: [NewListRecord] = []
        var elements = JSONElements()
        func take(_ element: JSONElement) throws {
            let id = try Self.id(of: element)
            guard let item = waiting[id] else {
                throw JSONFault(reason: UnexpectedRecord(id: id).description, place: element.place)
            }
            guard String(validating: element.value, as: UTF8.self) != nil else {
                throw JSONFault(reason: "a record is not UTF-8", place: element.place)
            }
            // `null` stands for no record; of records with one id the first counts.
            guard !element.value.elementsEqual("null".utf8), brought.insert(id).inserted else { return }
            found.append(
                NewListRecord(
                    item: item.item, sortKey: Self.key(of: element.value, at: sortKey), body: element.value))
        }
        try elements.append(body, take)
        try elements.end()
        records = found
        missing = asked.filter { !brought.contains($0.item.id) }
    }

    /// - Parameters:
    ///   - found: The records that a source took the page apart into.
    ///   - asked: The ids that were asked for.
    /// - Throws: ``UnexpectedRecord``.
    init(_ found: [(id: String, body: [UInt8])], asked: [PendingItem]) throws(UnexpectedRecord) {
        var waiting: [String: PendingItem] = [:]
        for item in asked { waiting[item.item.id] = item }
        var brought: Set<String> = []
        for record in found {
            guard let item = waiting[record.id] else { throw UnexpectedRecord(id: record.id) }
            guard brought.insert(record.id).inserted else { continue }
            records.append(NewListRecord(item: item.item, sortKey: .none, body: record.body))
        }
        missing = asked.filter { !brought.contains($0.item.id) }
    }

    /// A page brought a record that was not asked for.
    struct UnexpectedRecord: Error, CustomStringConvertible {
        var id: String

        var description: String { "the page has the record \"\(id.prefix(60))\", which was not asked for" }
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

    /// Gives the records the files that they name.
    mutating func addFiles(_ files: (NewListRecord) -> [NewPin]) {
        for index in records.indices { records[index].files = files(records[index]) }
    }
}
