/// Small files that make a decoder work or allocate a multiple of what they are: the shape of an attack, with a number of parts.
public enum HostileImages {
    // MARK: AVIF

    /// A grid of cells that all name the same bytes.
    public struct Grid: Sendable {
        public var rows: Int
        public var columns: Int
        /// The side of a cell as its properties say it, in pixels.
        public var side = 64
        /// A picture in one colour as it is decoded: of 64 or 1,024 pixels a side.
        public var cell = HostileImages.cell64
        /// Items that nothing refers to.
        public var extraItems = 0
        /// References from the image to itself.
        public var extraReferences = 0
        /// Parts of each cell's place, which take no bytes in the table.
        public var extents = 1
        /// Properties that no item has.
        public var extraProperties = 0
        /// Times that a cell has each property.
        public var associations = 1
        /// Exif blocks, all of the same bytes.
        public var exifs = 0

        public init(rows: Int, columns: Int) { (self.rows, self.columns) = (rows, columns) }
    }

    /// AV1 of 64 × 64 pixels.
    public static let cell64 = bytes("12000a0918157ffd82021a0d08321516400618618400c1b63f668b79ddc81ade38c03f39")
    /// AV1 of 1,024 × 1,024 pixels.
    public static let cell1024 = bytes(
        "12000a0a19667fffff82021a0d08324111900186186100f6585ffdd23e6cd16e99a2cd80ca5cda61ca9fa9ad49b138afd977abcaaf0a"
            + "d71b4ed3b57f0a78042456d7776a1b62e4716fae14ee5ace269c70")

    public static func avif(_ grid: Grid) -> [UInt8] {
        let count = grid.rows * grid.columns
        let cells = 2..<count + 2
        let others = cells.upperBound..<cells.upperBound + grid.extraItems
        let exifs = others.upperBound..<others.upperBound + grid.exifs
        let (width, height) = (grid.columns * grid.side, grid.rows * grid.side)
        var layout: [UInt8] = [0, 1, UInt8(grid.rows - 1), UInt8(grid.columns - 1)]
        layout += number(width, 4) + number(height, 4)

        var infos = number(exifs.upperBound - 1, 2) + info(1, "grid")
        for id in cells { infos += info(id, "av01") }
        for id in others { infos += info(id, "mime") }
        for id in exifs { infos += info(id, "Exif") }

        var (images, thumbnails) = (number(1, 2) + number(count, 2), number(1, 2) + number(grid.extraReferences, 2))
        for id in cells { images += number(id, 2) }
        thumbnails += repeated(number(1, 2), grid.extraReferences)
        var references = box("dimg", images) + box("thmb", thumbnails)
        for id in exifs { references += box("cdsc", number(id, 2) + number(1, 2) + number(1, 2)) }

        var properties = size(width, height) + size(grid.side, grid.side) + box("av1C", [0x81, 0x05, 0x0C, 0])
        properties += full("pixi", [3, 8, 8, 8]) + repeated(box("free", []), grid.extraProperties)
        let own: [UInt8] = [2, 0x83, 4] + repeated([2, 2, 2], grid.associations - 1)
        var associations = number(count + 1, 4) + number(1, 2) + [2, 1, 4]
        for id in cells { associations += number(id, 2) + [UInt8(own.count)] + own }

        func meta(_ start: Int) -> [UInt8] {
            // Without bytes for offsets and lengths a place is any number of parts without content.
            var places: [UInt8] = grid.extents > 1 ? [0, 0] : [0x44, 0]
            places += number(exifs.upperBound - 1, 2)
            for id in 1..<exifs.upperBound {
                places += number(id, 2) + number(0, 2) + number(grid.extents, 2)
                guard grid.extents == 1 else { continue }
                places += number(id == 1 ? start : start + layout.count, 4)
                places += number(id == 1 ? layout.count : grid.cell.count, 4)
            }
            var content = full("hdlr", number(0, 4) + Array("pict".utf8) + zeros(13)) + full("pitm", number(1, 2))
            content += full("iloc", places) + full("iinf", infos) + full("iref", references)
            content += box("iprp", box("ipco", properties) + full("ipma", associations))
            return full("meta", content)
        }
        let brand = box("ftyp", Array("avif".utf8) + number(0, 4) + Array("avifmif1miaf".utf8))
        let start = brand.count + meta(0).count + 8
        return brand + meta(start) + box("mdat", layout + grid.cell)
    }

    private static func size(_ width: Int, _ height: Int) -> [UInt8] {
        full("ispe", number(width, 4) + number(height, 4))
    }

    private static func info(_ id: Int, _ type: String) -> [UInt8] {
        full("infe", number(id, 2) + number(0, 2) + Array(type.utf8) + [0], version: 2)
    }

    public static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(content.count + 8, 4) + Array(type.utf8) + content
    }

    public static func full(_ type: String, _ content: [UInt8], version: UInt8 = 0) -> [UInt8] {
        box(type, [version, 0, 0, 0] + content)
    }

    /// A sequence whose tables of frames have so many entries.
    public static func avifSequence(_ table: String, entries: Int, size: Int) -> [UInt8] {
        let content = number(entries, 4) + repeated([1], entries * size)
        let tables = full(table, (table == "stsz" ? number(0, 4) : []) + content)
        let track = box("trak", box("mdia", box("minf", box("stbl", tables))))
        return box("ftyp", Array("avis".utf8) + number(0, 4) + Array("avis".utf8)) + box("moov", track)
    }

    // MARK: PNG

    /// Chunks without content before the pixels, and of the pixels.
    public static func png(chunks: Int = 0, dataChunks: Int = 0, profile: [UInt8]? = nil) -> [UInt8] {
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]
        file += chunk("IHDR", number(1, 4) + number(1, 4) + [8, UInt8(profile == nil ? 0 : 2), 0, 0, 0])
        if let profile { file += chunk("iCCP", [0x78, 0, 0] + stored(profile)) }
        file += repeated(chunk("teSt", []), chunks) + repeated(chunk("IDAT", []), dataChunks)
        return file + chunk("IDAT", stored(profile == nil ? [0, 9] : [0, 9, 99, 199])) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        return number(content.count, 4) + checked + number(Int(crc(checked)), 4)
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var sum: UInt32 = .max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    /// A zlib stream without compression.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        var (low, high) = (1, 0)
        for byte in bytes {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        for start in stride(from: 0, to: bytes.count, by: 65_535) {
            let part = bytes[start..<min(bytes.count, start + 65_535)]
            stream.append(part.endIndex == bytes.endIndex ? 1 : 0)
            stream += number(part.count, 2).reversed()
            stream += number(~part.count, 2).reversed()
            stream += part
        }
        return stream + number(high << 16 | low, 4)
    }

    /// A profile whose conversion has this many steps, all of which share the same bytes.
    public static func profile(steps: Int) -> [UInt8] {
        let side: UInt8 = 9
        var table = Array("clut".utf8) + number(0, 4) + number(3, 2) + number(3, 2)
        table += [side, side, side] + zeros(13) + repeated([0x3F], 9 * 9 * 9 * 3 * 4)
        var tag = Array("mpet".utf8) + number(0, 4) + number(3, 2) + number(3, 2) + number(steps, 4)
        tag += repeated(number(16 + steps * 8, 4) + number(table.count, 4), steps) + table
        let body = number(1, 4) + Array("D2B0".utf8) + number(144, 4) + number(tag.count, 4) + tag
        var head = number(128 + body.count, 4) + Array("lcms".utf8) + [4, 0x30, 0, 0] + Array("mntrRGB XYZ ".utf8)
        head += zeros(12) + Array("acsp".utf8) + zeros(28)
        head += number(0xF6D6, 4) + number(0x10000, 4) + number(0xD32D, 4)
        return head + zeros(128 - head.count) + body
    }

    // MARK: Others

    /// A TIFF of one gray pixel, in a tile of this size.
    public static func tiff(tile: (width: Int, height: Int)) -> [UInt8] {
        let entries = [
            (256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (277, 1), (322, tile.width), (323, tile.height), (324, 8),
            (325, 100),
        ]
        var file = Array("MM".utf8) + number(42, 2) + number(8, 4) + number(entries.count, 2)
        for (tag, value) in entries {
            // Numbers of four bytes, but those of 16 bits that libtiff expects as such.
            let isShort = tag == 258 || tag == 259 || tag == 262 || tag == 277
            file += number(tag, 2) + number(isShort ? 3 : 4, 2) + number(1, 4)
            file += isShort ? number(value, 2) + zeros(2) : number(value, 4)
        }
        return file + zeros(200)
    }

    /// Segments without content before the first one of a JPEG.
    public static func jpeg(_ file: [UInt8], segments: Int, marker: UInt8 = 0xFE) -> [UInt8] {
        Array(file.prefix(2)) + repeated([0xFF, marker, 0, 2], segments) + Array(file.dropFirst(2))
    }

    /// Frames of one pixel, each with blocks of one byte that say nothing more.
    public static func gif(frames: Int, blocks: Int = 0) -> [UInt8] {
        var frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4C, 1]
        frame += repeated([1, 0], blocks) + [0]
        let head: [UInt8] = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 1, 2, 3, 4, 5, 6]
        return head + repeated(frame, frames) + [0x3B]
    }

    /// A WebP with chunks without content behind its own, or in a frame.
    public static func webp(_ file: [UInt8], chunks: Int, inFrame: Bool = false) -> [UInt8] {
        let empty = repeated(Array("teSt".utf8) + zeros(4), chunks)
        var content = Array("WEBP".utf8) + webPChunk("VP8X", zeros(10)) + Array(file.dropFirst(12))
        content += inFrame ? webPChunk("ANMF", zeros(16) + empty) : empty
        return webPChunk("RIFF", content)
    }

    private static func webPChunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        Array(type.utf8) + number(content.count, 4).reversed() + content
    }

    public static func repeated(_ part: [UInt8], _ count: Int) -> [UInt8] {
        let size = part.count * count
        guard size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: size) { bytes, filled in
            let bytes = UnsafeMutableRawBufferPointer(bytes)
            bytes.copyBytes(from: part)
            filled = part.count
            // In blocks, not byte by byte: each is the whole before it.
            while filled < size {
                let length = min(filled, size - filled)
                UnsafeMutableRawBufferPointer(rebasing: bytes[filled..<filled + length])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<length]))
                filled += length
            }
        }
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// A number in so many bytes, the highest first.
    private static func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> ((count - 1 - $0) * 8)) }
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = digits.compactMap { $0.hexDigitValue.map { UInt8($0) } }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
