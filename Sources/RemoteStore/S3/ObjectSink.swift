import HTTPTypes
import Transfer

/// Collects the body of a store's response in memory, up to a limit.
///
/// `@unchecked Sendable`: the transport uses the sink during `run`, and the caller afterwards. `BodySink` guarantees that they never
/// overlap.
final class ObjectSink: BodySink, @unchecked Sendable {
    private struct TooLong: Error {}

    private let limit: Int
    private(set) var bytes: [UInt8] = []
    /// The head of an error, as soon as it has arrived.
    private(set) var errorHead: ResponseHead?
    var headArrived: (@Sendable () -> Void)?

    init(limit: Int) { self.limit = limit }

    func held() -> HeldPartial? { nil }

    func begin(_ head: ResponseHead, _ placement: BodyPlacement) throws {
        headArrived?()
        bytes = []
        errorHead = head.status.kind == .successful ? nil : head
        guard case .whole(let length) = placement, let length else { return }
        // The beginning of an error's explanation is enough.
        guard length <= Int64(limit) || errorHead != nil else { throw TooLong() }
        bytes.reserveCapacity(Int(min(length, Int64(limit))))
    }

    func write(_ part: UnsafeRawBufferPointer) throws -> WriteResult {
        let room = limit - bytes.count
        bytes.append(contentsOf: part.prefix(room))
        guard part.count <= room else { throw TooLong() }
        return .accepted
    }

    func end(_ ending: AttemptEnding) {}

    /// The error that a response with this head reports.
    func error(_ head: ResponseHead) -> RemoteError {
        .status(head.status.code, code: Self.code(in: String(decoding: bytes.prefix(1 << 12), as: UTF8.self)))
    }

    /// The code in an error's XML: `<Error><Code>AccessDenied</Code>…`. Only letters and digits, because the code is shown to users.
    private static func code(in text: String) -> String? {
        guard let start = text.firstRange(of: "<Code>"), let end = text[start.upperBound...].firstRange(of: "</Code>")
        else {
            return nil
        }
        let code = text[start.upperBound..<end.lowerBound]
        let isPlain = code.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
        return isPlain && (1...64).contains(code.utf8.count) ? String(code) : nil
    }
}
