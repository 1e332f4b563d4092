/// An element of a JSON array, or a member of a JSON object.
package struct JSONElement {
    /// The member's name; `nil` in an array.
    package var name: String?
    /// The bytes of the value in the text.
    package var value: [UInt8]
    package var place: JSONPlace
}

/// A position in a text.
package struct JSONPlace: Equatable, CustomStringConvertible {
    /// Counted from 1.
    package var line = 1
    /// Counted from 0.
    package var byte: Int64 = 0

    package var description: String { "line \(line), byte \(byte)" }
}

/// A text that is invalid or unexpected JSON.
package struct JSONFault: Error, CustomStringConvertible {
    package var reason: String
    package var place: JSONPlace

    package init(reason: String, place: JSONPlace) {
        self.reason = reason
        self.place = place
    }

    package var description: String { "\(place): \(reason)" }
}

/// Splits a JSON array or object into elements as it arrives. Only one element is in memory at a time.
package struct JSONElements {
    /// The size limit of an element in bytes.
    static let largest = 16 << 20

    /// The error for a text that is not an array; `nil` if objects are allowed.
    private let arrayReason: String?
    private var validator = JSONValidator()
    private var place = JSONPlace()
    private var isArray = true
    private var name: [UInt8] = []
    private var value: [UInt8] = []
    private var began = JSONPlace()
    private var isInElement = false

    /// - Parameter reason: The error for a text that is not an array; `nil` to allow objects.
    package init(ofArray reason: String? = nil) { arrayReason = reason }

    /// Parses the next bytes of the text, and calls `element` with each element that ends in them.
    package mutating func append(
        _ bytes: UnsafeRawBufferPointer, _ element: (JSONElement) throws -> Void
    ) throws {
        for byte in bytes {
            var isTaken = false
            while !isTaken { isTaken = try take(byte, element) }
            place.byte += 1
            if byte == 0x0A { place.line += 1 }
        }
    }

    /// Checks that the text is complete.
    package mutating func end() throws {
        if place.byte == 0 { throw JSONFault(reason: "the text is empty", place: place) }
        if !validator.end() { throw JSONFault(reason: "the text ends in the middle of a value", place: place) }
    }

    /// Returns false if the byte must be passed again.
    private mutating func take(_ byte: UInt8, _ element: (JSONElement) throws -> Void) throws -> Bool {
        let depth = validator.depth
        let wasInKey = validator.isInKey
        let event: JSONValidator.Event
        do { event = try validator.next(byte) } catch { throw fault(error) }
        switch event {
        case .valueBegan where depth == 0:
            isArray = byte == UInt8(ascii: "[")
            if !isArray, arrayReason != nil || byte != UInt8(ascii: "{") {
                throw JSONFault(reason: arrayReason ?? "an array or an object is expected", place: place)
            }
            return true
        case .valueBegan where depth == 1:
            isInElement = true
            began = place
        case .valueEndedBefore where depth == 1:
            try finish(element)
            return false
        case .valueEndedBefore: return false
        default: break
        }
        if isInElement {
            guard value.count < Self.largest else { throw JSONFault(reason: "an element is too large", place: began) }
            value.append(byte)
            if event == .valueEnded, validator.depth == 1 { try finish(element) }
        } else if depth == 1, wasInKey || validator.isInKey {
            if !wasInKey { name = [] }
            name.append(byte)
        }
        return true
    }

    private mutating func finish(_ element: (JSONElement) throws -> Void) throws {
        defer {
            value.removeAll(keepingCapacity: true)
            isInElement = false
        }
        var text: String?
        if !isArray {
            guard let name = JSONText.string(name) else { throw JSONFault(reason: "a name is not UTF-8", place: began) }
            text = name
        }
        try element(JSONElement(name: text, value: value, place: began))
    }

    private func fault(_ fault: JSONValidator.Fault) -> JSONFault {
        switch fault {
        case .tooDeep: JSONFault(reason: "too many nested values", place: place)
        case .unexpected(let byte):
            JSONFault(
                reason: byte > 0x20 && byte < 0x7F
                    ? "'\(Character(UnicodeScalar(byte)))' is not expected here"
                    : "byte 0x\(String(byte, radix: 16)) is not expected here", place: place)
        }
    }
}
