import Glibc

extension BodyWriter {
    /// The body's file, open for reading by itself, also after the commit; nil while there is no file.
    package func openedBody() throws(StoreError) -> PartialBody? {
        guard let partial else { return nil }
        return try PartialBody(
            PartialFiles(
                record: partial.record, recordFile: try File(partial.recordFile.path, O_RDONLY),
                data: try File(partial.data.path, O_RDONLY)))
    }

    /// True if a range is in the file: all blocks that it touches.
    package func hasBlocks(of range: Range<Int64>) -> Bool {
        guard let partial, !range.isEmpty else { return false }
        let blocks = BlockMap.index(of: range.lowerBound)...BlockMap.index(of: range.upperBound - 1)
        return blocks.allSatisfy { partial.blocks[$0] }
    }
}

extension PartialBody {
    /// The bytes of a range, behind a prefix, each block compared with its checksum; nil if one is missing, or was altered.
    ///
    /// - Parameter range: It begins at the start of a block, and ends with one.
    package func verifiedBytes(_ range: Range<Int64>, behind prefix: [UInt8]) throws(StoreError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: prefix.count + range.count)
        bytes.replaceSubrange(0..<prefix.count, with: prefix)
        var position = range.lowerBound
        while position < range.upperBound {
            let start = prefix.count + Int(position - range.lowerBound)
            let block = bytes.withUnsafeMutableBytes { bytes in
                Result { () throws(StoreError) in
                    try readVerified(
                        BlockMap.index(of: position), into: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
                }
            }
            guard let block = try block.get(), block.lowerBound == position else { return nil }
            position = block.upperBound
        }
        return bytes
    }
}
