package import Digests

/// A control file of zsync 0.6: the checksums of the blocks of a file, by which the blocks are found in other files.
///
///     zsync: 0.6.2
///     Filename: image.iso
///     Blocksize: 4096
///     Length: 1048576
///     Hash-Lengths: 2,3,5
///     URL: image.iso
///     SHA-1: 4a17…
///
///     (the checksums)
///
/// The blocks' checksums prove nothing by themselves: a control file may lie, and a rolling checksum with a few bytes of MD4 may collide. The
/// digest of the whole file decides.
package struct ZsyncControl: Sendable, Equatable {
    /// The name for the file, without a folder.
    package var filename: String?
    /// The URL of the file, which may be relative to the control file's.
    package var url: String?
    /// The SHA-1 of the whole file.
    package var sha1: Digest?
    /// The length of the file in bytes.
    package var length: Int64
    /// The length of a block in bytes: a power of two.
    package var blockSize: Int
    /// The number of consecutive blocks that must match: 1 or 2.
    package var run: Int
    /// The number of bytes of the rolling checksum of each block: 1 to 4.
    package var rollingBytes: Int
    /// The number of bytes of the MD4 of each block: 3 to 16.
    package var strongBytes: Int
    /// The checksums of all blocks, each of ``rollingBytes`` and ``strongBytes`` bytes.
    package var checksums: [UInt8]

    /// A control file that cannot be used, in words.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package static let mediaType = "application/x-zsync"
    /// The first line of a control file, with its line feed.
    package static let firstLine = "zsync: 0.6.2\n"
    /// The longest header line, in bytes.
    private static let longestLine = 8192
    private static let mostLines = 200
    package static let blockSizes = 256...(1 << 24)
    /// The largest number of blocks.
    package static let mostBlocks: Int64 = 1 << 22
    /// The largest control file, in bytes.
    package static let largest = Int(mostBlocks) * 20 + 65_536

    package var blockCount: Int { Int((length + Int64(blockSize) - 1) / Int64(blockSize)) }

    /// The bytes of the file that a block has.
    package func range(ofBlock index: Int) -> Range<Int64> {
        let start = Int64(index) * Int64(blockSize)
        return start..<min(start + Int64(blockSize), length)
    }

    package init(
        filename: String? = nil, url: String? = nil, sha1: Digest? = nil, length: Int64, blockSize: Int, run: Int,
        rollingBytes: Int, strongBytes: Int, checksums: [UInt8]
    ) {
        (self.filename, self.url, self.sha1) = (filename, url, sha1)
        (self.length, self.blockSize, self.run) = (length, blockSize, run)
        (self.rollingBytes, self.strongBytes, self.checksums) = (rollingBytes, strongBytes, checksums)
    }

    // MARK: Reading

    package init(_ bytes: [UInt8]) throws(Failure) {
        var fields: [String: String] = [:]
        var position = 0
        var safe: Set<Substring> = []
        var lines = 0
        while true {
            guard let end = bytes[position...].prefix(Self.longestLine).firstIndex(of: UInt8(ascii: "\n")) else {
                throw Failure(description: "it has no header that ends")
            }
            let line = String(decoding: bytes[position..<end], as: UTF8.self)
            position = end + 1
            if line.isEmpty { break }
            lines += 1
            guard let colon = line.firstIndex(of: ":"), lines <= Self.mostLines else {
                throw Failure(description: "line \(lines) of its header is no field")
            }
            let name = String(line[..<colon])
            let value = String(line[line.index(after: colon)...].drop { $0 == " " })
            guard lines > 1 || name == "zsync" else { throw Failure(description: "it is no control file of zsync") }
            switch name {
            case "Safe": safe.formUnion(value.split(separator: " "))
            case "Z-Map2":
                // The map of a compressed form of the file, which is not used.
                guard let count = Int(value), count >= 0, count <= (bytes.count - position) / 4 else {
                    throw Failure(description: "its Z-Map2 is longer than the file")
                }
                position += count * 4
            case "Z-URL", "Z-Filename", "Recompress", "MTime": break
            case "zsync", "Min-Version", "Filename", "URL", "SHA-1", "Length", "Blocksize", "Hash-Lengths":
                // The first URL counts.
                if fields[name] == nil { fields[name] = value }
            default:
                guard safe.contains(Substring(name)) else {
                    throw Failure(description: "the field \(name) is not known, and not said to be safe to ignore")
                }
            }
        }
        if let version = fields["Min-Version"], Self.isLater(version, than: [0, 6, 2]) {
            throw Failure(description: "it needs zsync \(version)")
        }
        guard let length = fields["Length"].flatMap({ Int64($0) }), length >= 0 else {
            throw Failure(description: "it has no Length")
        }
        guard let blockSize = fields["Blocksize"].flatMap({ Int($0) }), Self.blockSizes.contains(blockSize),
            blockSize & (blockSize - 1) == 0
        else { throw Failure(description: "its Blocksize is no power of two from 256 to 16777216") }
        let lengths = (fields["Hash-Lengths"] ?? "").split(separator: ",").map { Int($0) ?? 0 }
        guard lengths.count == 3, (1...2).contains(lengths[0]), (1...4).contains(lengths[1]),
            (3...16).contains(lengths[2])
        else { throw Failure(description: "its Hash-Lengths are not 1 or 2, 1 to 4, and 3 to 16") }
        guard length <= Self.mostBlocks * Int64(blockSize) else {
            throw Failure(description: "it has more than \(Self.mostBlocks) blocks")
        }
        let count = (length + Int64(blockSize) - 1) / Int64(blockSize)
        guard bytes.count - position == Int(count) * (lengths[1] + lengths[2]) else {
            throw Failure(description: "it has not the checksums of \(count) blocks")
        }
        let sha1 = fields["SHA-1"].map { Digest(.sha1, hexadecimal: $0) }
        if case .some(nil) = sha1 { throw Failure(description: "its SHA-1 is none") }
        self.init(
            filename: fields["Filename"], url: fields["URL"], sha1: sha1 ?? nil, length: length, blockSize: blockSize,
            run: lengths[0], rollingBytes: lengths[1], strongBytes: lengths[2], checksums: Array(bytes[position...]))
    }

    private static func isLater(_ version: String, than known: [Int]) -> Bool {
        let numbers = version.split(separator: ".").map { Int($0) ?? .max }
        for (index, number) in numbers.enumerated() {
            let other = index < known.count ? known[index] : 0
            if number != other { return number > other }
        }
        return false
    }

    // MARK: Writing

    /// The bytes of the control file.
    package var encoded: [UInt8] {
        var header = Self.firstLine
        if let filename { header += "Filename: \(filename)\n" }
        header += "Blocksize: \(blockSize)\nLength: \(length)\nHash-Lengths: \(run),\(rollingBytes),\(strongBytes)\n"
        if let url { header += "URL: \(url)\n" }
        if let sha1 { header += "SHA-1: \(sha1.hexadecimal)\n" }
        return Array((header + "\n").utf8) + checksums
    }

    // MARK: Checksums

    /// The rolling checksum of a block as far as the file gives it, in the form of ``RollingChecksum/value``.
    func rolling(_ index: Int) -> UInt32 {
        let start = index * (rollingBytes + strongBytes)
        return checksums[start..<start + rollingBytes].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The bits of a rolling checksum that the file gives: the last ones.
    var rollingMask: UInt32 { rollingBytes == 4 ? .max : (1 << (8 * UInt32(rollingBytes))) - 1 }

    /// The beginning of the MD4 of a block.
    func strong(_ index: Int) -> ArraySlice<UInt8> {
        let start = index * (rollingBytes + strongBytes) + rollingBytes
        return checksums[start..<start + strongBytes]
    }

    /// The bits of a digest that the file gives.
    var strongMask: SIMD4<UInt32> {
        Self.words((0..<16).map { $0 < strongBytes ? 0xFF : 0 })
    }

    func strongWords(_ index: Int) -> SIMD4<UInt32> { Self.words(strong(index)) }

    private static func words(_ bytes: some Sequence<UInt8>) -> SIMD4<UInt32> {
        var words = SIMD4<UInt32>()
        for (place, byte) in bytes.enumerated() { words[place / 4] |= UInt32(byte) << (8 * UInt32(place % 4)) }
        return words
    }
}
