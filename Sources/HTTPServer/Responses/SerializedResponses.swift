import NIOCore

/// The responses of the last second that may be replayed. This answers a hit without parsing its request, calling the handler or writing
/// its head. There is one table for each event loop, used only on that loop.
///
/// An entry lasts at most a second, and is checked before each use: the source of the response must still be current. The table is emptied
/// when it is full; frequently requested entries return soon.
final class SerializedResponses {
    private static let mostResponses = 1024
    /// In bytes.
    private static let mostMemory = 4 << 20

    /// Variants that differ in selecting fields alone.
    private static let mostVariants = 4

    private var responses: [Int: [SerializedResponse]] = [:]
    private var count = 0
    private var memory = 0
    /// The outline of the last head that was examined.
    private var outline: HeadOutline

    init(limits: RequestLimits, idName: String?) { outline = HeadOutline(limits: limits, idName: idName) }

    /// The response to the request at the beginning of `bytes`, and the length of that request.
    func response(to bytes: Span<UInt8>, at now: NIODeadline) -> (SerializedResponse, length: Int)? {
        guard count > 0, outline.read(bytes), let variants = responses[key(of: bytes)] else { return nil }
        for found in variants where found.answers(outline, of: bytes) {
            return found.isUsable(at: now) ? (found, outline.length) : nil
        }
        return nil
    }

    /// Keeps a response to a request, and replaces an older one.
    ///
    /// - Parameters:
    ///   - bytes: The head of the request.
    ///   - head: The head of the response as sent, with an id of 16 bytes at `idStart`.
    ///   - end: The time after which the response may not be used.
    func insert(
        _ response: Response, _ reuse: ResponseReuse, to bytes: Span<UInt8>, head: [UInt8], idStart: Int?,
        content: [UInt8], until end: NIODeadline
    ) {
        guard outline.read(bytes) else { return }
        let prepared = SerializedResponse(
            response, reuse, to: outline, of: bytes, head: head, idStart: idStart, content: content, until: end)
        let key = key(of: bytes)
        var variants = responses.removeValue(forKey: key) ?? []
        for index in variants.indices.reversed()
        where variants[index].answers(outline, of: bytes) || index >= Self.mostVariants - 1 {
            forget(variants.remove(at: index))
        }
        if count >= Self.mostResponses || memory + prepared.size > Self.mostMemory {
            responses.removeAll(keepingCapacity: true)
            (variants, count, memory) = ([], 0, 0)
        }
        variants.append(prepared)
        responses[key] = variants
        (count, memory) = (count + 1, memory + prepared.size)
    }

    private func forget(_ response: SerializedResponse) {
        (count, memory) = (count - 1, memory - response.size)
    }

    private func key(of bytes: Span<UInt8>) -> Int {
        var hasher = Hasher()
        hasher.combine(outline.isHead)
        Self.add(outline.target, of: bytes, to: &hasher)
        for field in outline.conditions { Self.add(field.value, of: bytes, to: &hasher) }
        return hasher.finalize()
    }

    private static func add(_ range: Range<Int>, of bytes: Span<UInt8>, to hasher: inout Hasher) {
        bytes.extracting(range).withUnsafeBufferPointer { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
