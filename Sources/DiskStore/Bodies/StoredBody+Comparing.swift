import Glibc

extension StoredBody {
    /// Returns true if a regular file with the body's bytes is at `path`. A symbolic link is not a regular file.
    package func isEqual(toFileAt path: String) -> Bool {
        guard let status = FileStatus(at: path), status.isRegular, status.size == size else { return false }
        // The store's file itself.
        if status.links > 1, status.identity == file.status?.identity { return true }
        guard let other = try? File(path, O_RDONLY) else { return false }
        let unit = Int(min(max(size, 1), BlockMap.blockSize))
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * unit, alignment: 64)
        defer { memory.deallocate() }
        let own = UnsafeMutableRawBufferPointer(rebasing: memory[..<unit])
        let others = UnsafeMutableRawBufferPointer(rebasing: memory[unit...])
        var offset: Int64 = 0
        while offset < size {
            let count = Int(min(Int64(unit), size - offset))
            guard (try? file.read(into: .init(rebasing: own[..<count]), at: offset)) == count,
                (try? other.read(into: .init(rebasing: others[..<count]), at: offset)) == count,
                let left = own.baseAddress, let right = others.baseAddress, memcmp(left, right, count) == 0
            else { return false }
            offset += Int64(count)
        }
        return true
    }
}
