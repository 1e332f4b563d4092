import ConcurrencyPrimitives
import DiskStore
import Glibc

extension BlockingExecutor {
    /// Threads for copies to files and descriptors of callers. Each copy has its thread, up to the limit, because a descriptor may block for long.
    static let copies = BlockingExecutor(width: 64)
}

/// Copies a range of an open file to a pipe, a terminal, a socket or another file, inside the kernel where it can.
func copyBytes(_ range: Range<Int64>, of source: Int32, to target: Int32) throws(ImageCacheError) {
    var offset = off_t(range.lowerBound)
    while offset < range.upperBound {
        let wanted = min(Int(range.upperBound - Int64(offset)), 1 << 20)
        let sent = sendfile(target, source, &offset, wanted)
        if sent > 0 || (sent < 0 && errno == EINTR) { continue }
        if sent < 0, errno == EINVAL || errno == ENOSYS {
            // A target opened with O_APPEND, or a file system without the call.
            try copyThroughMemory(Int64(offset)..<range.upperBound, of: source, to: target)
            return
        }
        throw copyFailure(sent)
    }
}

private func copyThroughMemory(_ range: Range<Int64>, of source: Int32, to target: Int32) throws(ImageCacheError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
        let count = pread(source, buffer.baseAddress, min(buffer.count, Int(range.upperBound - offset)), off_t(offset))
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { throw copyFailure(count) }
        try copyBytes(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target)
        offset += Int64(count)
    }
}

/// Writes bytes to a pipe, a terminal, a socket or a file.
func copyBytes(_ bytes: [UInt8], to target: Int32) throws(ImageCacheError) {
    do {
        try bytes.withUnsafeBytes { try copyBytes($0, to: target) }
    } catch let error as ImageCacheError {
        throw error
    } catch {
        throw ImageCacheError(.store(.io), message: "writing the output failed", cause: error)
    }
}

private func copyBytes(_ bytes: UnsafeRawBufferPointer, to target: Int32) throws(ImageCacheError) {
    var rest = bytes
    while !rest.isEmpty {
        let written = write(target, rest.baseAddress, rest.count)
        if written < 0 && errno == EINTR { continue }
        guard written > 0 else { throw copyFailure(written) }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
}

/// Reads `errno`: must be called directly after the system call that failed.
private func copyFailure(_ result: Int) -> ImageCacheError {
    let number = errno
    guard result != 0 else {
        return ImageCacheError(.store(.io), message: "writing the output failed: the file is shorter than it was")
    }
    let reason = strerror(number).map { String(cString: $0) } ?? "error"
    return ImageCacheError(
        .store(number == ENOSPC ? .full : .io), message: "writing the output failed: \(reason)",
        cause: StoreError(.io, "writing the output failed", errno: number))
}
