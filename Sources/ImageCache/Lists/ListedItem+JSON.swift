import DiskStore
import FoundationEssentials
import HTTPSemantics
import TextIdentity

/// An element of an array of ids.
struct ListedElement {
    var item: ListedItem
    /// The server says that it is gone.
    var isDeleted = false

    /// - Throws: ``JSONFault`` when it names no id.
    init(_ element: JSONElement) throws(JSONFault) {
        if let id = JSONID(element.value) {
            item = ListedItem(id: id.text, isNumeric: id.isNumeric)
            return
        }
        guard let members = JSONText.members(element.value),
            let id = members.last(where: { $0.name == "id" }).flatMap({ JSONID($0.value) })
        else { throw JSONFault(reason: "an id, or an object with an \"id\", is expected", place: element.place) }
        let modified = members.last { $0.name == "modified" }?.value ?? []
        let isTime = JSONText.isNumber(modified) || modified.first == UInt8(ascii: "\"")
        guard isTime || modified.isEmpty || modified.elementsEqual("null".utf8) else {
            throw JSONFault(reason: "\"modified\" is neither a number nor a string", place: element.place)
        }
        item = ListedItem(
            id: id.text, isNumeric: id.isNumeric, modified: isTime ? String(decoding: modified, as: UTF8.self) : "",
            recency: isTime ? Self.recency(modified) : 0)
        isDeleted = members.last { $0.name == "deleted" }.map { $0.value.elementsEqual("true".utf8) } ?? false
    }

    /// A number that grows with the time: milliseconds since 1970 of a date (RFC 3339, RFC 9110 section 5.6.7), a thousandfold of a
    /// number. A text that is no date gives 0: such ids stay in the order of the array.
    static func recency(_ json: [UInt8]) -> Int64 {
        guard let text = JSONText.string(json) else {
            return (Double(String(decoding: json, as: UTF8.self)) ?? 0).thousandfold
        }
        if let number = Double(text) { return number.thousandfold }
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let date =
            (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: fractional))
            ?? HTTPDate.parse(text, now: Date(timeIntervalSince1970: 0))
        return date.map { $0.timeIntervalSince1970.thousandfold } ?? 0
    }
}

extension Double {
    fileprivate var thousandfold: Int64 { isFinite && abs(self) < 9e15 ? Int64((self * 1000).rounded()) : 0 }
}

/// An id as JSON has it.
struct JSONID: Hashable {
    @ByteText var text: String
    var isNumeric: Bool

    /// `nil` for what is neither a number nor a string with something in it.
    init?(_ json: [UInt8]) {
        if JSONText.isNumber(json) {
            (_text, isNumeric) = (String(decoding: json, as: UTF8.self).asBytes, true)
        } else if let string = JSONText.string(json), !string.isEmpty {
            (_text, isNumeric) = (string.asBytes, false)
        } else {
            return nil
        }
    }
}
