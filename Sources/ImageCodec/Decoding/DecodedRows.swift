internal import CImageCodec
internal import Glibc

/// The rows of a JPEG as its decoder produced them at a scale, before any filter: images of every size that has this
/// ``DecodingTarget/scale`` are made from them, bit for bit as from the file itself.
package final class DecodedRows: Sendable {
    package let scale: DecodingScale
    let header: ImageHeader
    let size: ResizePlan.Size
    fileprivate let buffer: RowBuffer

    fileprivate init(_ header: ImageHeader, _ scale: DecodingScale, _ size: ResizePlan.Size, _ buffer: RowBuffer) {
        self.header = header
        self.scale = scale
        self.size = size
        self.buffer = buffer
    }

    /// The memory in bytes.
    package var cost: Int { buffer.byteCount }

    /// The cost of the rows of a file, in bytes; nil if they cannot be kept.
    package static func cost(of header: ImageHeader, at scale: DecodingScale) -> Int? {
        guard header.format == .jpeg, header.registered == nil, !header.description.is_cmyk else { return nil }
        let size = header.size(at: scale)
        return size.width * size.height * 3
    }
}

/// Red, green and blue of rows, in pages of the system's: kept for long between many small images, blocks of this size
/// would leave holes in the heap.
///
/// `@unchecked Sendable`: written by the collector that allocates it, before anybody else has it.
private final class RowBuffer: @unchecked Sendable {
    let bytes: UnsafeMutablePointer<UInt8>
    let byteCount: Int
    /// The memory that can be handed to another process; nil: it is this one's alone.
    let shared: SharedMemory?

    /// Returns nil if there is not enough memory.
    init?(byteCount: Int) {
        self.byteCount = byteCount
        if SharedMemory.isPreferredForRows {
            guard let memory = SharedMemory(byteCount: byteCount) else { return nil }
            shared = memory
            bytes = memory.bytes
            return
        }
        let pages = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let pages, pages != MAP_FAILED else { return nil }
        shared = nil
        bytes = pages.assumingMemoryBound(to: UInt8.self)
    }

    init(_ memory: SharedMemory) {
        shared = memory
        bytes = memory.bytes
        byteCount = memory.byteCount
    }

    deinit { if shared == nil { munmap(bytes, byteCount) } }
}

extension DecodedRows {
    /// The rows in memory of another process; nil if there is not as much of it as the rows take.
    convenience init?(
        _ header: ImageHeader, _ scale: DecodingScale, _ size: ResizePlan.Size, _ memory: SharedMemory
    ) {
        guard memory.byteCount == size.width * size.height * 3 else { return nil }
        self.init(header, scale, size, RowBuffer(memory))
    }

    /// The memory that can be handed to another process.
    package var shared: SharedMemory? { buffer.shared }
}

/// Keeps the rows of one decode.
package final class RowCollector {
    private var buffer: RowBuffer?
    /// The number of pixels so far.
    private var filled = 0
    private var result: DecodedRows?

    package init() {}

    /// The rows, if the decode delivered all of them, and no damage was passed over.
    package var rows: DecodedRows? { result }

    /// Adds complete rows.
    func add(_ rows: UnsafePointer<UInt8>, pixels count: Int, of total: Int) {
        if filled == 0 { buffer = RowBuffer(byteCount: total * 3) }
        guard let buffer, (filled + count) * 3 <= buffer.byteCount else { return }
        icodec_without_alpha(rows, buffer.bytes + filled * 3, count)
        filled += count
    }

    /// Ends a decode without damage.
    func finish(_ header: ImageHeader, _ scale: DecodingScale, _ size: ResizePlan.Size) {
        guard let buffer, filled == size.width * size.height, filled * 3 == buffer.byteCount else { return }
        result = DecodedRows(header, scale, size, buffer)
        self.buffer = nil
    }
}

/// Reads kept rows. Not Sendable: used by one thread at a time.
final class KeptRowReader: RowReading {
    private let rows: DecodedRows
    private var next = 0

    init(_ rows: DecodedRows) { self.rows = rows }

    var width: Int { rows.size.width }
    var height: Int { rows.size.height }

    func read(
        into target: UnsafeMutablePointer<UInt8>, count: Int, _ watch: inout icodec_watch
    ) throws(ImageCodecError) -> Int {
        try watch.check()
        let count = min(count, height - next)
        let start = next * width * 3
        icodec_with_alpha(rows.buffer.bytes + start, target, count * width)
        next += count
        return count
    }
}

extension ImageDecoder {
    /// Like ``decode(_:_:cancellation:collecting:)`` with the file of the rows, and the same options.
    package func decode(_ rows: DecodedRows, _ outputs: [DecodingOutput], cancellation: ImageCancellation?) {
        let pass = DecodingPass(outputs: outputs, cancellation: cancellation)
        do throws(ImageCodecError) {
            let conversion = try pass.conversion(of: rows.header, color)
            let lanes = lanes(rows.header, pass, hasAlpha: false, linear: usesLinearLight)
            guard let first = lanes.first else { return }
            guard first.target.scale == rows.scale else {
                throw ImageCodecError(.failed, format: .jpeg, "rows of another scale")
            }
            try RowFeed(lanes: lanes, pass: pass).run(KeptRowReader(rows))
            finish(lanes, rows.header, conversion, mayHaveAlpha: false, damage: nil)
        } catch {
            for output in outputs { output.fail(error) }
        }
    }
}
