import ConcurrencyPrimitives
import FoundationEssentials
import HTTPTypes
import Transfer

/// A transport without a network, which answers every request alike or fails it.
final class FixtureTransport: HTTPTransport {
    enum Answer: Sendable {
        case response(HTTPResponse.Status, HTTPFields = [:], body: [UInt8] = [])
        case failure(TransferError.Code)
    }

    private let script: @Sendable (TransferRequest) -> Answer
    private let received = Locked<[TransferRequest]>([])

    init(_ script: @escaping @Sendable (TransferRequest) -> Answer) { self.script = script }

    var requests: [TransferRequest] { received.withLock { $0 } }

    func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        received.withLock { $0.append(request) }
        switch script(request) {
        case .failure(let code): throw TransferError(code, url: request.url, "the script let it fail")
        case .response(let status, var fields, let body):
            fields[.contentLength] = String(body.count)
            let head = ResponseHead(
                status: status, fields: fields, finalURL: request.url, requestTime: Date(), responseTime: Date())
            guard request.method != .head else { return TransferResult(head: head, outcome: .status) }
            do {
                try sink.begin(head, .whole(length: Int64(body.count)))
                _ = try body.withUnsafeBytes { try sink.write($0) }
                try sink.end(.complete)
            } catch {
                throw TransferError(.refusedBySink, url: request.url, "refused", cause: error)
            }
            return TransferResult(head: head, outcome: .body)
        }
    }
}
