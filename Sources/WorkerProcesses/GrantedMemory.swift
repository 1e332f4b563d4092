import CLinux
import Glibc

/// The files in memory that a worker has: made by this process, since a worker cannot make any, and together no larger than its limit.
struct GrantedMemory {
    private struct File {
        let descriptor: OpenDescriptor
        let size: Int
        let inode: ino_t
    }

    /// As many as a worker may have descriptors.
    static let mostFiles = 16

    private let limit: Int
    private var files: [Int64: File] = [:]
    private var last: Int64 = 0
    /// Bytes of all files, in whole pages.
    private(set) var size = 0

    /// - Parameter limit: bytes of all files.
    init(limit: Int) { self.limit = limit }

    /// Makes a file for the worker. It cannot grow.
    ///
    /// - Returns: The answer: the file's number with its descriptor, or 0 if the worker gets none.
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

    /// Takes back a file that the worker does not need any more.
    ///
    /// - Returns: False if the worker has none of this number.
    mutating func free(_ number: Int64) -> Bool {
        guard let file = files.removeValue(forKey: number) else { return false }
        takeBack(file)
        return true
    }

    /// Takes back all files.
    mutating func freeAll() {
        for file in files.values { takeBack(file) }
        files = [:]
    }

    /// The worker may have kept the descriptor: the memory goes in any case.
    private mutating func takeBack(_ file: File) {
        ftruncate(file.descriptor.number, 0)
        size -= file.size
    }

    /// Takes over a file that came with an answer.
    ///
    /// - Returns: False for something else, which this process has not made.
    mutating func adopt(_ descriptor: OpenDescriptor) -> Bool {
        guard let inode = Self.inode(of: descriptor.number),
            let (number, file) = files.first(where: { $0.value.inode == inode })
        else { return false }
        size -= file.size
        files[number] = nil
        return true
    }
}
