import Glibc
import ImageCodec

/// Injects decoder faults for tests of isolation, in processes that start with `IMGCACHE_TEST_DECODER_FAULTS`.
///
/// A file that begins with `IMGCACHE-FAULT` and the name of a fault triggers it when its header is read. A file that ends with them
/// triggers the fault when it is decoded; with a number, when that frame is rendered. If the variable is a path, helpers exit at their
/// start while that file exists.
enum DecoderFault: String {
    case address, loop, memory, closed, open, code, abort, file, keep

    static var isEnabled: Bool { getenv("IMGCACHE_TEST_DECODER_FAULTS") != nil }

    /// Retained memory. The process has one thread.
    nonisolated(unsafe) private static var kept: UnsafeMutableRawPointer?

    /// Exits if the process is a helper that should fail to start.
    static func endHelper() {
        guard let path = getenv("IMGCACHE_TEST_DECODER_FAULTS"), path.pointee == UInt8(ascii: "/"),
            access(path, F_OK) == 0
        else { return }
        exit(1)
    }

    private static let mark = "IMGCACHE-FAULT "

    /// Triggers the fault at the end of the file, if any.
    static func strike(_ descriptor: Int32, endingAt byteCount: Int, frame: Int = 0) {
        strike(descriptor, at: max(0, byteCount - length), frame: frame)
    }

    /// Triggers the fault at this position of the file, if any.
    static func strike(_ descriptor: Int32, at position: Int, frame: Int = 0) {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, off_t(position))
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        guard text.hasPrefix(mark) else { return }
        let words = text.dropFirst(mark.count).split(separator: " ")
        guard let name = words.first, words.dropFirst().first.flatMap({ Int($0) }) ?? 0 == frame else { return }
        DecoderFault(rawValue: String(name))?.strike()
    }

    /// The length of the mark at the end of a file, padded with spaces.
    private static let length = 32

    private func strike() {
        switch self {
        case .address: UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
        case .loop:
            var generator = SystemRandomNumberGenerator()
            while generator.next() != 0 {}
        case .memory:
            // Until allocation fails, and then like a decoder that does not check the result.
            while true {
                let memory = malloc(16 << 20)
                memset(memory ?? UnsafeMutableRawPointer(bitPattern: 8).unsafelyUnwrapped, 1, 16 << 20)
            }
        case .closed:
            for descriptor in Int32(0)..<64 { close(descriptor) }
            _ = write(3, "x", 1)
        case .open: _ = Glibc.open("/etc/hostname", O_RDONLY)
        case .code: mprotect(nil, 0, PROT_EXEC)
        case .abort: Glibc.abort()
        case .file: _ = SharedMemory.ownSource.allocate(1)
        case .keep:
            // Leaks memory; the image is rendered nevertheless.
            let bytes = 512 << 20
            Self.kept = malloc(bytes)
            if let memory = Self.kept { memset(memory, 1, bytes) }
        }
    }
}
