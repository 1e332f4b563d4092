import Glibc

/// Writes small files so that they appear whole or not at all.
enum WholeFile {
    /// - Throws: ``Failure`` with exit code 6.
    static func write(_ bytes: [UInt8], to path: String, overwrite: Bool) throws {
        // Beside the target, so that it can be renamed.
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { mkstemp($0) } ?? -1
        }
        guard descriptor >= 0 else { throw Failure(.store, "\(path): \(errorText(errno))") }
        let temporary = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { close(descriptor) }
        let mask = umask(0)
        umask(mask)
        let isWritten = fchmod(descriptor, 0o666 & ~mask) == 0 && Output.write(bytes, to: descriptor)
        let number = errno
        // A link, unlike a rename, never takes another file's place.
        guard isWritten, overwrite ? rename(temporary, path) == 0 : link(temporary, path) == 0 else {
            let failure = isWritten ? errno : number
            unlink(temporary)
            throw failure == EEXIST ? Failure.exists(path) : Failure(.store, "\(path): \(errorText(failure))")
        }
        if !overwrite { unlink(temporary) }
    }
}
