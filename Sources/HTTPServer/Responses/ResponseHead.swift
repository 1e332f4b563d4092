import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import NIOCore

/// The framing of a response's content (RFC 9112 section 6).
enum ResponseFraming: Equatable {
    /// No content and no length: 204, 304.
    case none
    case length(Int64)
    case chunked
    /// Delimited by the end of the connection: for HTTP/1.0, if the length is unknown.
    case untilClose

    /// The framing of a response to a request of HTTP/1 with this minor version.
    ///
    /// - Parameter isWithoutContent: True if the client expects no content, as after HEAD.
    init(of response: Response, status: Int, isWithoutContent: Bool, minorVersion: Int) {
        if status == 204 || status < 200 {
            self = .none
            return
        }
        // An origin's malformed length must not be sent on as if it were one.
        let named = ContentLength.value(of: response.head.headerFields)
        switch response.body {
        case .bytes(let bytes): self = .length(Int64(bytes.count))
        case .file(let file): self = .length(Int64(file.range.count))
        case .none:
            self = if isWithoutContent { named.map { .length($0) } ?? .none } else { .length(0) }
        case .stream(let length, _):
            if let length = length ?? named {
                self = .length(length)
            } else if isWithoutContent {
                self = .none
            } else {
                self = minorVersion == 0 ? .untilClose : .chunked
            }
        }
    }
}

/// Writes a response's head.
enum ResponseHead {
    /// The fields that the connection adds to a response.
    struct Additions {
        /// This proxy's entry in Via, or nil for a response that this server generated.
        var via: String?
        /// The name and value of the field with the request's id. It replaces a field of the same name.
        var id: (name: HTTPField.Name, value: String)?
        /// The value for a response without a Date.
        var date: String
    }

    /// - Returns: The position of the id's value in the written bytes, or nil if there is none.
    @discardableResult
    static func write(
        _ head: HTTPResponse, framing: ResponseFraming, keepsAlive: Bool, minorVersion: Int, _ additions: Additions,
        to buffer: inout ByteBuffer
    ) -> Int? {
        let start = buffer.writerIndex
        var idStart: Int?
        buffer.writeStaticString("HTTP/1.1 ")
        writeStatus(head.status, to: &buffer)
        var hasDate = false
        var via = additions.via
        var viaLines = via == nil ? 0 : head.headerFields[values: .via].count
        for field in head.headerFields {
            switch field.name {
            case .contentLength, .transferEncoding, .connection, additions.id?.name: continue
            case .date: hasDate = true
            case .via:
                viaLines -= 1
                // After all previous intermediaries.
                if let own = via, viaLines == 0 {
                    writeField(field, ", " + own, to: &buffer)
                    via = nil
                    continue
                }
            default: break
            }
            writeField(field, to: &buffer)
        }
        if let via { writeField("Via", via, to: &buffer) }
        if !hasDate { writeField("Date", additions.date, to: &buffer) }
        if let id = additions.id {
            idStart = buffer.writerIndex - start + id.name.rawName.utf8.count + 2
            writeField(id.name.rawName, id.value, to: &buffer)
        }
        switch framing {
        case .none, .untilClose: break
        case .length(let length): writeField("Content-Length", String(length), to: &buffer)
        case .chunked: buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
        }
        if !keepsAlive {
            buffer.writeStaticString("Connection: close\r\n")
        } else if minorVersion == 0 {
            buffer.writeStaticString("Connection: keep-alive\r\n")
        }
        buffer.writeStaticString("\r\n")
        return idStart
    }

    /// Writes an interim head, to which the connection adds nothing.
    static func write(interim head: HTTPResponse, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("HTTP/1.1 ")
        writeStatus(head.status, to: &buffer)
        for field in head.headerFields where field.name != .contentLength && field.name != .transferEncoding {
            writeField(field, to: &buffer)
        }
        buffer.writeStaticString("\r\n")
    }

    private static func writeStatus(_ status: HTTPResponse.Status, to buffer: inout ByteBuffer) {
        if status.code == 200 {
            buffer.writeStaticString("200 OK\r\n")
            return
        }
        buffer.writeString(String(status.code))
        buffer.writeStaticString(" ")
        buffer.writeString(status.reasonPhrase)
        buffer.writeStaticString("\r\n")
    }

    /// Writes the value byte by byte: it need not be valid text.
    private static func writeField(_ field: HTTPField, _ more: String = "", to buffer: inout ByteBuffer) {
        buffer.writeString(field.name.rawName)
        buffer.writeStaticString(": ")
        _ = field.withUnsafeBytesOfValue { buffer.writeBytes($0) }
        buffer.writeString(more)
        buffer.writeStaticString("\r\n")
    }

    private static func writeField(_ name: String, _ value: String, to buffer: inout ByteBuffer) {
        buffer.writeString(name)
        buffer.writeStaticString(": ")
        buffer.writeString(value)
        buffer.writeStaticString("\r\n")
    }
}

/// The Date field's value, generated once a second.
struct DateField {
    private var second: Int64 = -1
    private var text = ""

    mutating func value(at now: Date = Date()) -> String {
        let current = Int64(now.timeIntervalSince1970)
        if current != second {
            second = current
            text = HTTPDate.format(now)
        }
        return text
    }
}
