import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// Hummingbird's: the data listener has answers of its own.
typealias AdminRequest = Hummingbird.Request
typealias AdminResponse = Hummingbird.Response

extension AdminResponse {
    /// A value as JSON.
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Nothing that is answered holds a number that JSON has none for.
        let data = (try? encoder.encode(value)) ?? Data("{}".utf8)
        return bytes(ByteBuffer(bytes: data), type: "application/json", status: status)
    }

    static func bytes(_ buffer: ByteBuffer, type: String, status: HTTPResponse.Status = .ok) -> Self {
        Self(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: buffer))
    }
}
