import Foundation
import HTTPSemantics
import HTTPTypes

/// The time that the tests call now: Thu, 01 Jan 2026 00:00:00 GMT.
let now = Date(timeIntervalSince1970: 1_767_225_600)

/// `now`, so many seconds earlier or later, as a field writes it.
func date(_ offset: Double) -> String { HTTPDate.format(now + offset) }

/// Fields from `name: value` pairs; a name may occur several times.
func fields(_ pairs: [(String, String)]) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in pairs {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
}
