import HTTPTypes
import NIOCore

/// A serialised response that is sent to all equal requests.
final class SerializedResponse {
    /// The parts that requests must have in common to get it: see ``ResponseReuse``.
    private struct Question {
        let isHead: Bool
        let target: [UInt8]
        let host: [UInt8]
        let conditions: [Line]
        /// For each selecting name the values of its lines, in their order.
        let selecting: [(name: [UInt8], values: [[UInt8]])]
    }

    private struct Line {
        let name: [UInt8]
        let value: [UInt8]
    }

    private let question: Question
    private let reuse: ResponseReuse
    private let end: NIODeadline
    private let head: [UInt8]
    /// The position of the request's id in the head, or nil if no id is sent.
    private let idStart: Int?
    let content: [UInt8]
    /// The content as the channel takes it; made for the second use.
    private var contentBuffer: ByteBuffer?
    /// The target of the requests for it.
    let target: String
    let status: Int
    let outcome: String?

    /// - Parameters:
    ///   - bytes: The bytes that `outline` is of.
    ///   - head: As it was sent, with an id of 16 bytes at `idStart`.
    ///   - end: The time after which it may not be used.
    init(
        _ response: Response, _ reuse: ResponseReuse, to outline: HeadOutline, of bytes: Span<UInt8>, head: [UInt8],
        idStart: Int?, content: [UInt8], until end: NIODeadline
    ) {
        var conditions: [Line] = []
        for field in outline.conditions {
            conditions.append(Line(name: bytes.bytes(field.name).map(\.lowercased), value: bytes.bytes(field.value)))
        }
        var selecting: [(name: [UInt8], values: [[UInt8]])] = []
        for name in reuse.selectingNames {
            var values: [[UInt8]] = []
            for field in outline.fields where bytes.hasLetters(name, at: field.name) {
                values.append(bytes.bytes(field.value))
            }
            selecting.append((name, values))
        }
        question = Question(
            isHead: outline.isHead, target: bytes.bytes(outline.target), host: bytes.bytes(outline.host),
            conditions: conditions, selecting: selecting)
        self.reuse = reuse
        self.end = end
        self.head = head
        self.idStart = idStart
        self.content = content
        target = String(decoding: question.target, as: UTF8.self)
        status = response.head.status.code
        outcome = response.outcome
    }

    /// The memory that it takes, in bytes.
    var size: Int { content.count * 2 + head.count + question.target.count + 512 }

    /// True if this is the response to a request.
    func answers(_ outline: HeadOutline, of bytes: Span<UInt8>) -> Bool {
        guard outline.isHead == question.isHead, bytes.hasBytes(question.target, at: outline.target),
            bytes.hasBytes(question.host, at: outline.host), outline.conditions.count == question.conditions.count
        else { return false }
        for (field, line) in zip(outline.conditions, question.conditions) {
            guard bytes.hasLetters(line.name, at: field.name), bytes.hasBytes(line.value, at: field.value) else {
                return false
            }
        }
        for (name, values) in question.selecting {
            var seen = 0
            for field in outline.fields where bytes.hasLetters(name, at: field.name) {
                guard seen < values.count, bytes.hasBytes(values[seen], at: field.value) else { return false }
                seen += 1
            }
            guard seen == values.count else { return false }
        }
        return true
    }

    /// True if it may be sent now.
    func isUsable(at now: NIODeadline) -> Bool { now < end && reuse.permits() }

    /// The head, and small content, with an id for a request; and the content if it is larger.
    func message(id: UInt64, _ allocator: ByteBufferAllocator) -> (start: ByteBuffer, rest: ByteBuffer?) {
        let isSmall = content.count <= 1024
        var buffer = allocator.buffer(capacity: head.count + (isSmall ? content.count : 0))
        buffer.writeBytes(head)
        if let idStart { RequestID.write(id, to: &buffer, at: idStart) }
        if isSmall {
            buffer.writeBytes(content)
            return (buffer, nil)
        }
        if let contentBuffer { return (buffer, contentBuffer) }
        var rest = allocator.buffer(capacity: content.count)
        rest.writeBytes(content)
        contentBuffer = rest
        return (buffer, rest)
    }
}
