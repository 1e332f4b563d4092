import CLinux
import Glibc

/// The in-memory files of a worker. This process creates them, because a worker cannot, and bounds their total size.
struct GrantedMemory {
    private struct File {
        let descriptor: OpenDescriptor
        let size: Int
        let inode: ino_t
    }

    /// The number of descriptors that a worker may have.
    static let mostFiles = 16

    private let limit: Int
    private var files: [Int64: File] = [:]
    private var last: Int64 = 0
    /// The total size of the files in bytes, in whole pages.
    private(set) var size = 0

    /// - Parameter limit: The greatest total size of the files in bytes.
    init(limit: Int) { self.limit = limit }

    /// Creates a file for the worker. The file cannot grow.
    ///
    /// - Returns: The answer: the file's number with its descriptor, or 0 if the request is denied.
    mutating func grant(_ byteCount: Int64) -> WorkerMessage {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        guard byteCount > 0, byteCount <= Int64(limit), files.count < Self.mostFiles else { return Self.refusal }
        let bytes = (Int(byteCount) + page - 1) / page * page
        guard bytes <= limit - size else { return Self.refusal }
        let number = clinux_memory_file(Int(byteCount))
        guard number >= 0 else { return Self.refusal }
        let file = OpenDescriptor(owning: number)
        guard clinux_seal_size(number), let inode = Self.inode(of: number) else { return Self.refusal }
        last += 1
        size += bytes
        files[last] = File(descriptor: file, size: bytes, inode: inode)
        return WorkerMessage(purpose: .memory, Numbers.bytes(of: last), descriptors: [file])
    }

    private static let refusal = WorkerMessage(purpose: .memory, Numbers.bytes(of: 0))

    private static func inode(of descriptor: Int32) -> ino_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_ino : nil
    }

    /// Releases a file that the worker no longer needs.
    ///
    /// - Returns: False if the worker has no file with this number.
    mutating func free(_ number: Int64) -> Bool {
        guard let file = files.removeValue(forKey: number) else { return false }
        takeBack(file)
        return true
    }

    /// Releases all files.
    mutating func freeAll() {
        for file in files.values { takeBack(file) }
        files = [:]
    }

    /// Frees the memory of a file, even if the worker has kept the descriptor.
    private mutating func takeBack(_ file: File) {
        ftruncate(file.descriptor.number, 0)
        size -= file.size
    }

    /// Takes ownership of a file that arrived with an answer.
    ///
    /// - Returns: False if this process did not create the file.
    mutating func adopt(_ descriptor: OpenDescriptor) -> Bool {
        guard let inode = Self.inode(of: descriptor.number),
            let (number, file) = files.first(where: { $0.value.inode == inode })
        else { return false }
        size -= file.size
        files[number] = nil
        return true
    }
}
