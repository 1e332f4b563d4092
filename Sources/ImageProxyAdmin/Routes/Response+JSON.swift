import FoundationEssentials
import HTTPServer
import HTTPTypes

extension Response {
    /// Encodes a value as JSON.
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Responses contain no number that JSON cannot represent.
        let data = (try? encoder.encode(value)) ?? Data("{}".utf8)
        return bytes(Array(data), type: "application/json", status: status)
    }

    static func bytes(_ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(HTTPResponse(status: status, headerFields: [.contentType: type]), body: .bytes(bytes))
    }
}
