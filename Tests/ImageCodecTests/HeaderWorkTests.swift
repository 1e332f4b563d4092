import CImageCodec
import TestSupport
import Testing

@testable import ImageCodec

/// Small files that require much work. The counts reject each of them before a library processes it.
@Suite struct HeaderWorkTests {
    typealias Grid = HostileImages.Grid

    private func code(
        _ bytes: [UInt8], _ change: (inout ImageDecoder) -> Void = { _ in }
    ) -> (header: ImageCodecError.Code?, image: ImageCodecError.Code?) {
        var decoder = ImageDecoder()
        change(&decoder)
        func code(_ work: () throws(ImageCodecError) -> Void) -> ImageCodecError.Code? {
            do throws(ImageCodecError) {
                try work()
                return nil
            } catch {
                return error.code
            }
        }
        return (
            code { () throws(ImageCodecError) in _ = try decoder.info(ImageSource(bytes)) },
            code { () throws(ImageCodecError) in _ = try decoder.decode(ImageSource(bytes), to: .fit(16, 16)) }
        )
    }

    private func scan(_ bytes: [UInt8]) -> (boxes: icodec_avif_boxes, code: Int32) {
        var (boxes, error) = (icodec_avif_boxes(), icodec_error())
        let isDone = icodec_avif_scan(bytes, bytes.count, &boxes, &error)
        return (boxes, isDone ? 0 : error.code)
    }

    // MARK: Grids

    @Test func `a grid of a photo's size is decoded`() throws {
        let bytes = HostileImages.avif(Grid(rows: 8, columns: 12))
        let image = try ImageDecoder().decode(ImageSource(bytes))
        #expect((image.width, image.height) == (768, 512))
        #expect(image[0, 0] == image[767, 511] && image[0, 0].w == 255)
        let (boxes, code) = scan(bytes)
        #expect(code == 0 && boxes.cells == 96 && boxes.own_cells == 96 && boxes.smallest_side == 64)
    }

    @Test func `the decoder of each grid cell counts as memory, and a grid with too many is refused`() throws {
        let bytes = HostileImages.avif(Grid(rows: 20, columns: 70))
        #expect(bytes.count < 80_000)
        let header = try ImageDecoder().header(of: ImageSource(bytes))
        #expect(header.memory(at: .whole) >= 1_400 * 420 << 10)
        let (info, image) = code(bytes)
        #expect(info == nil && image == .limitExceeded)
        // A limit that it keeps within: what was counted is what decides.
        #expect(code(bytes) { $0.limits.memory = 1 << 30 }.image == nil)
    }

    @Test(arguments: [
        ("items", Grid(rows: 64, columns: 150)),
        ("items that nothing refers to", with(Grid(rows: 1, columns: 1)) { $0.extraItems = 5_000 }),
        ("references", with(Grid(rows: 1, columns: 1)) { $0.extraReferences = 5_000 }),
        ("extents that take no bytes", with(Grid(rows: 2, columns: 2)) { $0.extents = 60_000 }),
        ("properties", with(Grid(rows: 1, columns: 1)) { $0.extraProperties = 20_000 }),
        ("properties of items", with(Grid(rows: 40, columns: 40)) { $0.associations = 80 }),
        ("Exif blocks", with(Grid(rows: 1, columns: 1)) { $0.exifs = 20 }),
    ])
    func `an AVIF with more boxes than a photo needs is refused by its header`(_ what: String, _ grid: Grid) {
        let bytes = HostileImages.avif(grid)
        let (info, image) = code(bytes)
        #expect(info == .limitExceeded && image == .limitExceeded, "\(what)")
        // It was counted up to the limit, and no further.
        checkBounds(scan(bytes).boxes)
    }

    @Test(arguments: [("stco", 4), ("co64", 8), ("stsz", 4), ("stss", 4), ("stts", 8), ("stsc", 12)])
    func `a sequence with more entries in its tables than frames that are read is refused`(_ table: String, _ size: Int)
    {
        let count = table == "stsc" ? 5_000 : 70_000
        let bytes = HostileImages.avifSequence(table, entries: count, size: size)
        #expect(scan(bytes).code == Int32(ICODEC_LIMIT))
        #expect(code(bytes).header == .limitExceeded)
    }

    @Test func `millions of boxes are refused, at every depth`() {
        let boxes = HostileImages.repeated(HostileImages.box("free", []), 70_000)
        let brand = HostileImages.box("ftyp", Array("avif\0\0\0\0avif".utf8))
        for content in [
            boxes, HostileImages.full("meta", boxes), HostileImages.box("moov", HostileImages.box("trak", boxes)),
            HostileImages.full("meta", HostileImages.box("iprp", boxes)),
        ] {
            #expect(code(brand + content).header == .limitExceeded)
        }
    }

    @Test func `cells below MIAF's 64 pixels are refused without being decoded`() {
        var grid = Grid(rows: 4, columns: 4)
        grid.side = 32
        #expect(code(HostileImages.avif(grid)).header == .corrupt)
    }

    @Test func `a grid cell that is larger than declared is not decoded`() {
        var grid = Grid(rows: 4, columns: 4)
        grid.cell = HostileImages.cell1024
        let (info, image) = code(HostileImages.avif(grid))
        #expect(info == nil && image == .corrupt)
        grid.side = 1_024
        #expect(code(HostileImages.avif(grid)).image == nil)
    }

    @Test func `thousands of mutants of an AVIF are scanned within bounds`() throws {
        var generator = SeededGenerator(for: "boxes")
        var grid = Grid(rows: 3, columns: 3)
        (grid.exifs, grid.extraItems, grid.extraReferences) = (2, 3, 4)
        let samples = [
            HostileImages.avif(grid), HostileImages.avif(Grid(rows: 20, columns: 70)),
            HostileImages.avifSequence("stsc", entries: 3, size: 12),
            try Corpus.shared.bytes("avif/gen__sequence.avif"), try Corpus.shared.bytes("avif/gen__grid.avif"),
        ]
        for number in 0..<4_000 {
            var bytes = samples[number % samples.count]
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0..<min(bytes.count, 2_000), using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] = 0xFF
                case 2: bytes[place] = 0
                case 3: bytes.removeSubrange(place..<min(bytes.count, place + 8))
                default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 24)], at: place)
                }
            }
            if number % 7 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator)) }
            checkBounds(scan(bytes).boxes)
        }
    }

    private func checkBounds(_ boxes: icodec_avif_boxes) {
        let most = UInt64(icodec_avif_most_items)
        for count in [boxes.items, boxes.locations, boxes.references, boxes.associated, boxes.runs] {
            #expect(count <= most + 1)
        }
        #expect(boxes.work.items <= UInt64(icodec_most_items) + 1)
        #expect(boxes.cells <= most)
        #expect(boxes.properties <= UInt64(icodec_avif_most_properties) + 1)
        // One more entry of a table adds what it has.
        #expect(boxes.extents <= UInt64(icodec_avif_most_extents) + 65_535)
        #expect(boxes.associations <= UInt64(icodec_avif_most_associations) + 255)
    }

    // MARK: Other formats

    @Test func `a PNG of thousands of empty chunks is read, and one with too many is refused`() {
        #expect(code(HostileImages.png(chunks: 60_000)) == (nil, nil))
        #expect(code(HostileImages.png(chunks: 70_000)) == (.limitExceeded, .limitExceeded))
        #expect(code(HostileImages.png(dataChunks: 60_000)) == (nil, nil))
        #expect(code(HostileImages.png(dataChunks: 90_000)) == (nil, .limitExceeded))
    }

    @Test func `a JPEG of thousands of empty segments is read, and one with too many anywhere is refused`() throws {
        let image = try DecodedImage(width: 16, height: 16) { $0.initializeMemory(as: UInt8.self, repeating: 90) }
        var options = ImageEncoder.JPEGOptions()
        options.isProgressive = true
        let file = try ImageEncoder(.jpeg(options)).encode(image)
        for marker: UInt8 in [0xE1, 0xE2, 0xE5, 0xFE] {
            #expect(code(HostileImages.jpeg(file, segments: 60_000, marker: marker)) == (nil, nil))
            let many = HostileImages.jpeg(file, segments: 70_000, marker: marker)
            #expect(code(many) == (.limitExceeded, .limitExceeded))
            let preview = ProgressiveJPEGPreview(sizing: nil, decoder: ImageDecoder())
            let error = #expect(throws: ImageCodecError.self) { try preview.append(many) }
            #expect(error?.code == .limitExceeded)
        }
        // Between two scans.
        let second = try #require(file.indices.dropLast().last { file[$0] == 0xFF && file[$0 + 1] == 0xDA })
        var late = Array(file[..<second])
        late += HostileImages.repeated([0xFF, 0xFE, 0, 2], 70_000) + Array(file[second...])
        #expect(code(late) == (nil, .limitExceeded))
    }

    @Test func `a GIF of thousands of frames or blocks is read, and one with too many is refused`() {
        #expect(code(HostileImages.gif(frames: 60_000)).header == nil)
        #expect(code(HostileImages.gif(frames: 70_000)).header == .limitExceeded)
        #expect(code(HostileImages.gif(frames: 1, blocks: 60_000)) == (nil, nil))
        #expect(code(HostileImages.gif(frames: 1, blocks: 200_000)) == (.limitExceeded, .limitExceeded))
    }

    @Test func `a WebP of thousands of empty chunks is read, and one with too many is refused`() throws {
        let image = try DecodedImage(width: 16, height: 16) { $0.initializeMemory(as: UInt8.self, repeating: 90) }
        let file = try ImageEncoder.webp().encode(image)
        for inFrame in [false, true] {
            #expect(code(HostileImages.webp(file, chunks: 60_000, inFrame: inFrame)).header != .limitExceeded)
            let many = HostileImages.webp(file, chunks: 70_000, inFrame: inFrame)
            #expect(code(many) == (.limitExceeded, .limitExceeded))
        }
    }

    @Test func `a colour profile with a thousand identical steps is refused before its conversion`() {
        #expect(code(HostileImages.png(profile: HostileImages.profile(steps: 3))) == (nil, nil))
        #expect(code(HostileImages.png(profile: HostileImages.profile(steps: 1_000))).image == .limitExceeded)
    }

    // MARK: Memory and time

    @Test func `profile and Exif block count as memory`() throws {
        let source = ImageSource(try Corpus.shared.bytes("jpeg/exif-orientation-examples__Landscape_6.jpg"))
        var header = try ImageDecoder().header(of: source)
        let before = header.memory(at: .whole)
        let own = (header.profile?.count ?? 0) + (header.exif?.bytes.count ?? 0)
        header.profile = [UInt8](repeating: 0, count: 4 << 20)
        header.exif = ExifBlock([1, 2, 3])
        #expect(header.memory(at: .whole) - before == ((4 << 20) + 3 - own) * 2)
        var decoder = ImageDecoder()
        decoder.limits.memory = before + (16 << 20)
        _ = try decoder.target(.fit(10, 10), of: header)
        decoder.limits.memory = 4 << 20
        let error = #expect(throws: ImageCodecError.self) { try decoder.target(.fit(10, 10), of: header) }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `an exceeded memory limit is reported as such, however small the limit is`() throws {
        let names = [
            "jpeg/exif-orientation-examples__Landscape_6.jpg", "png/codec-corpus__24.png", "webp/Pillow__hopper.webp",
            "avif/gen__d10.avif",
        ]
        let gif = HostileImages.gif(frames: 3)
        for bytes in try names.map({ try Corpus.shared.bytes($0) }) + [gif] {
            for memory in [0, 10, 100, 1_000, 3_000, 10_000, 20_000, 60_000] {
                let (info, image) = code(bytes) { $0.limits.memory = memory }
                #expect(info == nil || info == .limitExceeded, "\(memory)")
                #expect(image == .limitExceeded, "\(memory)")
            }
        }
    }

    /// A decoder and an encoder of an application that state some memory.
    private struct Stating: ImageDecoding, ImageEncoding {
        let format = ImageFormat(name: "stating", mediaType: "image/x-stating")
        let identity = "stating"
        let bytes: Int

        func canDecode(_ start: [UInt8]) -> Bool { true }

        func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
            var header = DecodingHeader(width: 1, height: 1)
            header.memory = bytes
            return header
        }

        func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
            try DecodedImage(width: 1, height: 1) { _ in }
        }

        func encode(_ image: DecodedImage, within budget: ImageBudget) throws(ImageCodecError) -> [UInt8] { [1] }

        func memory(width: Int, height: Int) -> Int { bytes }
    }

    @Test(arguments: [.min, -1, 0, 1 << 20, .max - 1, .max] as [Int])
    func `any memory that an application's decoder or encoder states is counted`(bytes: Int) throws {
        let own = Stating(bytes: bytes)
        var decoder = ImageDecoder()
        decoder.registered = [own]
        let isTooLarge = bytes > decoder.limits.memory
        let decoded = try? decoder.decode(ImageSource([1, 2, 3]))
        #expect((decoded == nil) == isTooLarge)
        let image = try DecodedImage(width: 1, height: 1) { _ in }
        let budget = ImageBudget(limits: decoder.limits)
        let encoded = try? ImageEncoder(own).encode(image, within: budget)
        #expect((encoded == nil) == isTooLarge)
    }

    @Test func `the time for the header counts towards the image`() throws {
        var decoder = ImageDecoder()
        decoder.registered = [SlowDecoder(seconds: 0.02)]
        // Two headers and the pixels are more; a header, and a header with the pixels, are less.
        decoder.limits.seconds = 0.05
        let source = ImageSource([1, 2, 3])
        let budget = ImageBudget(limits: decoder.limits)
        _ = try decoder.header(of: source, within: budget)
        #expect(budget.spent >= 0.02)
        _ = try decoder.decode(source)
        for work: () throws -> Void in [
            { _ = try decoder.decode(source, within: budget) },
            {
                _ = try ImageEncoder.webp().thumbnail(of: source, .fit(9, 9), decoder, keepsAnimation: true)
            },
            { _ = try decoder.frames(of: source).next() },
        ] {
            let error = #expect(throws: ImageCodecError.self) { try work() }
            #expect(error?.code == .limitExceeded)
        }
    }
}

private func with(_ grid: HostileImages.Grid, _ change: (inout HostileImages.Grid) -> Void) -> HostileImages.Grid {
    var grid = grid
    change(&grid)
    return grid
}
