import HTTPTypes
import NIOCore

/// The properties of the requests in arbitrary bytes: they are independent of how the bytes are divided, within the
/// limits, and a request survives a round trip through its text.
struct Trial {
    private let bytes: [UInt8]
    private let limits = RequestLimits(target: 512, head: 2048, fields: 20, body: 1000)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private struct Outcome: Equatable {
        var heads: [RequestHead] = []
        var contents: [[UInt8]] = []
        /// Not by which fault: a limit may be met before another one is seen, or after.
        var isRefused = false
    }

    func run() {
        let whole = outcome(of: bytes, cut: bytes.count)
        // The division depends on the bytes, so that an input is reproducible.
        precondition(outcome(of: bytes, cut: 1) == whole)
        precondition(outcome(of: bytes, cut: 2 + Int(bytes.last ?? 0) % 17) == whole)
        for (head, content) in zip(whole.heads, whole.contents) {
            precondition(content.count <= limits.body)
            precondition(head.targetText.utf8.count <= limits.target && head.fields.count <= limits.fields)
            check(head, content)
        }
    }

    private func outcome(of bytes: [UInt8], cut: Int) -> Outcome {
        var reader = RequestReader(limits: limits)
        var buffer = ByteBuffer()
        var outcome = Outcome()
        var rest = bytes[...]
        do throws(RequestError) {
            while !rest.isEmpty {
                buffer.writeBytes(rest.prefix(max(1, cut)))
                rest = rest.dropFirst(max(1, cut))
                while let step = try reader.next(&buffer) {
                    switch step {
                    case .head(let head): outcome.heads.append(head)
                    case .content(let content): outcome.contents.append(content)
                    }
                }
            }
        } catch {
            outcome.isRefused = true
        }
        return outcome
    }

    private func check(_ head: RequestHead, _ content: [UInt8]) {
        guard case .path(let path) = head.target else { return }
        var text = Array("\(head.method.rawValue) \(path) HTTP/1.\(head.minorVersion)\r\n".utf8)
        for field in head.fields where field.name.canonicalName != "transfer-encoding" {
            text += Array("\(field.name.rawName): ".utf8)
            field.withUnsafeBytesOfValue { text += Array($0) }
            text += Array("\r\n".utf8)
        }
        if head.framing == .chunked { text += Array("Content-Length: \(content.count)\r\n".utf8) }
        text += Array("\r\n".utf8) + content
        guard text.count - content.count <= limits.head else { return }
        let again = outcome(of: text, cut: text.count)
        precondition(!again.isRefused && again.contents == [content] && again.heads.first?.target == head.target)
    }
}
