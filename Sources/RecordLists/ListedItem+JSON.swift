import DiskStore
import FoundationEssentials
import HTTPSemantics
import JSONParsing
import TextIdentity

/// An element of an array of ids.
struct ListedElement {
    var item: ListedItem
    /// True if the server reports the id as deleted.
    var isDeleted = false

    /// - Throws: ``JSONFault`` if the element has no id.
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

    /// A number that increases with the modification time: the milliseconds since 1970 of a date (RFC 3339, or RFC 9110 section 5.6.7), or
    /// 1000 times a number. Any other text gives 0, so that such ids keep the order of the array.
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

/// An id in JSON.
struct JSONID: Hashable {
    @ByteText var text: String
    var isNumeric: Bool

    /// Returns `nil` for anything but a number or a nonempty string.
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
