import DiskStore
public import FoundationEssentials

/// The record of one id of a ``RecordList``: its bytes as the server sent them.
public struct ListRecord: Sendable, Hashable, Identifiable {
    /// The id's text; of a JSON number its digits.
    public let id: String
    /// The id is a JSON number, and not a string.
    public let isNumericID: Bool
    /// The modification time that the server listed for the record, as it wrote it; `nil` when it lists none.
    public let modified: String?
    /// The modification time as JSON; empty: none.
    let modifiedJSON: String
    /// The record: one JSON value.
    public let body: [UInt8]

    init(_ record: StoredListRecord) {
        id = record.id
        isNumericID = record.isNumeric
        modifiedJSON = record.modified
        modified = Self.text(ofModified: record.modified)
        body = record.body
    }

    init(_ item: ListedItem, body: [UInt8]) {
        id = item.id
        isNumericID = item.isNumeric
        modifiedJSON = item.modified
        modified = Self.text(ofModified: item.modified)
        self.body = body
    }

    static func text(ofModified json: String) -> String? {
        json.isEmpty ? nil : JSONText.string(json.utf8) ?? json
    }

    /// The record as a value of a type.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, by decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(body))
    }

    /// The record with its id and modification time as JSON, on one line.
    public var json: String {
        let id = JSONText.id(id, isNumeric: isNumericID)
        // A line feed stands between the tokens of JSON, and nowhere else.
        let record = String(decoding: body.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }, as: UTF8.self)
        return "{\"id\":\(id),\"modified\":\(modifiedJSON.isEmpty ? "null" : modifiedJSON),\"record\":\(record)}"
    }
}

/// A page of records.
public struct RecordPage: Sendable {
    public var records: [ListRecord]
    /// The value that requests the page after this one; `nil` at the end.
    public var next: String?
}

/// The order of records.
public enum RecordOrder: String, Sendable, Hashable, CaseIterable {
    /// The order of the server's array.
    case order
    /// By modification time, the newest first; where it is the same, or the server lists none, in the order of the array.
    case newest
    /// By the text of the id.
    case id
    /// By the key that the source extracts (``JSONListSource/sortKey``); records without one come last.
    case key
}

/// A bound of a range of records: of ids, or of the keys that the source extracts.
public enum RecordKey: Sendable, Hashable {
    case text(String)
    case number(Double)
}
