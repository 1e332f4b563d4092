internal import CImageCodec
internal import Glibc

/// The bytes of one image file: in memory, or in a file that is read in parts, so that a large one is never held whole.
public struct ImageSource: Sendable {
    /// The length of the file in bytes.
    public let byteCount: Int
    private let storage: Storage

    private enum Storage: Sendable {
        case bytes([UInt8])
        case file(OpenFile)
    }

    public init(_ bytes: [UInt8]) {
        byteCount = bytes.count
        storage = .bytes(bytes)
    }

    /// Opens a file; it is closed with the last copy of this value.
    ///
    /// - Throws: `unreadable` if the file does not exist, or is not a regular one.
    public init(path: String) throws(ImageCodecError) {
        // Opening a FIFO would otherwise wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable("\(path): \(String(cString: strerror(errno)))") }
        try self.init(owning: descriptor, name: path)
    }

    /// Reads the file of a descriptor from its start. The descriptor is duplicated, its position is neither used nor
    /// changed.
    ///
    /// - Throws: `unreadable` if it is not a regular file.
    public init(duplicating descriptor: Int32) throws(ImageCodecError) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .unreadable("descriptor \(descriptor): \(String(cString: strerror(errno)))") }
        try self.init(owning: copy, name: "descriptor \(descriptor)")
    }

    /// Reads the file of a descriptor that another process has sent together with its length, because a worker cannot query the length.
    ///
    /// - Parameter owner: Closes the descriptor when it is released.
    package init(descriptor: Int32, of owner: any AnyObject & Sendable, byteCount: Int) {
        self.byteCount = byteCount
        storage = .file(OpenFile(descriptor: descriptor, owner: owner))
    }

    private init(owning descriptor: Int32, name: String) throws(ImageCodecError) {
        let file = OpenFile(descriptor: descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .unreadable("\(name): not a regular file")
        }
        byteCount = Int(status.st_size)
        storage = .file(file)
    }

    /// Closes its descriptor with the last reference.
    private final class OpenFile: Sendable {
        let descriptor: Int32
        /// Closes it instead.
        private let owner: (any AnyObject & Sendable)?

        init(descriptor: Int32, owner: (any AnyObject & Sendable)? = nil) {
            self.descriptor = descriptor
            self.owner = owner
        }

        deinit { if owner == nil { close(descriptor) } }

        /// Reads from the start of the file; fewer bytes if it ends or fails.
        func read(into buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int {
            var filled = 0
            while filled < count, let base = buffer.baseAddress {
                let got = pread(descriptor, base + filled, count - filled, off_t(filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { break }
                filled += got
            }
            return filled
        }
    }
}

extension ImageSource {
    /// Provides the source to a decoder while `body` runs.
    func lend<Result>(
        _ body: (icodec_source) throws(ImageCodecError) -> Result
    ) throws(ImageCodecError) -> Result {
        switch storage {
        case .file(let file): return try body(icodec_source(bytes: nil, size: byteCount, fd: file.descriptor))
        case .bytes(let bytes):
            return try bytes.withUnsafeBufferPointer { (buffer) throws(ImageCodecError) -> Result in
                // An empty array has no address, which would mean "read the file".
                var nothing: UInt8 = 0
                guard let start = buffer.baseAddress else {
                    return try withUnsafePointer(to: &nothing) { (pointer) throws(ImageCodecError) -> Result in
                        try body(icodec_source(bytes: pointer, size: 0, fd: -1))
                    }
                }
                return try body(icodec_source(bytes: start, size: buffer.count, fd: -1))
            }
        }
    }

    /// A descriptor of the file for another process, which belongs to the caller. Bytes in memory are copied.
    package func descriptor() throws(ImageCodecError) -> Int32 {
        switch storage {
        case .file(let file):
            let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw .unreadable("too many open files") }
            return copy
        case .bytes(let bytes):
            guard !bytes.isEmpty else { throw ImageCodecError(.truncated, "no bytes") }
            guard let memory = SharedMemory(byteCount: bytes.count) else { throw .outOfMemory }
            UnsafeMutableRawBufferPointer(start: memory.bytes, count: bytes.count).copyBytes(from: bytes)
            return memory.surrender()
        }
    }

    /// The first bytes of the file, at most `count`.
    public func prefix(_ count: Int) throws(ImageCodecError) -> [UInt8] {
        switch storage {
        case .bytes(let bytes): return Array(bytes.prefix(count))
        case .file(let file):
            let wanted = min(count, byteCount)
            // The count of an array without room would be set in storage that all threads share.
            guard wanted > 0 else { return [] }
            var filled = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, initialized in
                filled = file.read(into: UnsafeMutableRawBufferPointer(buffer), count: wanted)
                initialized = filled
            }
            guard filled == wanted else { throw cut(after: filled) }
            return bytes
        }
    }

    /// Copies all bytes of the file.
    func copy(into buffer: UnsafeMutableRawBufferPointer) throws(ImageCodecError) {
        switch storage {
        case .bytes(let bytes): buffer.copyBytes(from: bytes)
        case .file(let file):
            let filled = file.read(into: buffer, count: byteCount)
            guard filled == byteCount else { throw cut(after: filled) }
        }
    }

    private func cut(after filled: Int) -> ImageCodecError {
        .unreadable("the file ends after \(filled) of \(byteCount) bytes, or cannot be read")
    }

    /// All bytes of the file, which are read now unless they are already in memory.
    public func all() throws(ImageCodecError) -> [UInt8] { try prefix(byteCount) }

    /// The format, identified by the first bytes.
    ///
    /// - Throws: `unsupportedFormat` if no signature matches, or for a format that is not supported.
    package func format() throws(ImageCodecError) -> ImageFormat {
        guard byteCount > 0 else { throw ImageCodecError(.truncated, "no bytes") }
        guard let format = ImageFormat.detect(try prefix(ImageFormat.signatureLength)) else {
            throw ImageCodecError(.unsupportedFormat, "not an image of a known format")
        }
        return format
    }
}

extension ImageCodecError {
    static func unreadable(_ reason: String) -> ImageCodecError { ImageCodecError(.unreadable, reason) }
}
