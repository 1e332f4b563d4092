import DiskStore
public import FoundationEssentials
import JSONParsing

/// The record of one id of a ``RecordList``, with the bytes that the server sent.
public struct ListRecord: Sendable, Hashable, Identifiable {
    /// The id's text; for a JSON number its digits.
    public let id: String
    /// True if the id is a JSON number, false if it is a string.
    public let isNumericID: Bool
    /// The record's modification time in the server's array, as written there; `nil` if the array has none.
    public let modified: String?
    /// The modification time as JSON; empty if there is none.
    let modifiedJSON: String
    /// The record: one JSON value, unless ``JSONListSource/records`` extracted it.
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

    /// Decodes the record from JSON.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, by decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(body))
    }

    /// A JSON object on one line with the id, the modification time and the record.
    public var json: String {
        let id = JSONText.id(id, isNumeric: isNumericID)
        // In valid JSON, line breaks occur only between tokens.
        let record = String(decoding: body.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }, as: UTF8.self)
        return "{\"id\":\(id),\"modified\":\(modifiedJSON.isEmpty ? "null" : modifiedJSON),\"record\":\(record)}"
    }
}

/// A page of records.
public struct RecordPage: Sendable {
    public var records: [ListRecord]
    /// The cursor of the next page; `nil` at the end.
    public var next: String?
}

/// The order of records in a page.
public enum RecordOrder: String, Sendable, Hashable, CaseIterable {
    /// The order of the server's array.
    case order
    /// By modification time, newest first. Records with the same time, or without one, have the order of the array.
    case newest
    /// By the text of the id.
    case id
    /// By the key that the source extracts (``JSONListSource/sortKey``); records without one come last.
    case key
}

/// A bound of a range of records: an id, or a key that the source extracts.
public enum RecordKey: Sendable, Hashable {
    case text(String)
    case number(Double)
}
