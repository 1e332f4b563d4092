// Sources/ImageCache/ImageCache.docc/Extending.md shows this file from the next line on; DocumentationTests compares the two.
import FoundationEssentials
import ImageCache
import Transfer

/// Responds with files of the application in place of a network.
struct FixtureTransport: HTTPTransport {
    let fixtures: [String: [UInt8]]

    func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        let bytes = fixtures[request.url]
        let head = ResponseHead(
            status: bytes == nil ? .notFound : .ok, fields: [.cacheControl: "max-age=60"],
            finalURL: request.url, requestTime: Date(), responseTime: Date())
        guard let bytes else { return TransferResult(head: head, outcome: .status) }
        do {
            try sink.begin(head, .whole(length: Int64(bytes.count)))
            _ = try bytes.withUnsafeBytes { try sink.write($0) }
            try sink.end(.complete)
        } catch {
            throw TransferError(.refusedBySink, url: request.url, "the body could not be stored", cause: error)
        }
        return TransferResult(head: head, outcome: .body, bytesReceived: Int64(bytes.count))
    }
}
