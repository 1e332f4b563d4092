import Testing

@testable import ImageCodec

/// Files of at most a number of bytes (`maxBytes`).
@Suite struct FileSizeLimitTests {
    /// Runs a search over a format whose files have the given sizes; returns the qualities that it tried and the one that it took.
    private func search(_ limit: Int, from quality: Int, _ size: (Int) -> Int) -> (tried: [Int], best: Int) {
        var search = QualitySearch(FileSizeLimit(bytes: limit, quality: quality), size: size(quality))
        var (tried, best) = ([Int](), quality)
        while let next = search.next {
            tried.append(next)
            if search.isBetter(size(next), than: size(best)) { best = next }
            search.note(size(next), at: next)
        }
        return (tried, best)
    }

    @Test(arguments: [(100, 2.0), (80, 2.0), (80, 3.5), (60, 1.0), (100, 6.0)])
    func `the search for a quality takes at most four tries and finds a file that is small enough`(
        _ start: Int, _ steepness: Double
    ) {
        /// From 20 kB at quality 1, exponentially or nearly so.
        func size(_ quality: Int) -> Int {
            Int(20_000 * (1 + Double(quality) / 10) * (1 + Double(quality * quality) * steepness / 10_000))
        }
        for limit in stride(from: size(10), to: size(start), by: max(1, size(start) / 50)) {
            let (tried, best) = search(limit, from: start, size)
            #expect(tried.count <= 4 && Set(tried).count == tried.count)
            #expect(tried.allSatisfy { (10..<start).contains($0) })
            #expect(size(best) <= limit)
            #expect(size(best + 4) > limit || Double(size(best)) > 0.85 * Double(limit), "\(limit): \(tried)")
        }
    }

    @Test func `the smallest file is the result if none is small enough`() {
        let (tried, best) = search(10, from: 80) { 1000 + $0 }
        #expect(best == 10 && tried.last == 10)
        #expect(search(10, from: 10) { 1000 + $0 }.tried == [])
        #expect(search(10, from: 5) { 1000 + $0 }.tried == [])
    }

    @Test(arguments: [ImageFormat.jpeg, .webp, .avif])
    func `a photograph is encoded within the byte limit, with the same bytes each time`(_ format: ImageFormat) throws {
        let photo = try ImageDecoder().decode(
            Corpus.shared.source("jpeg/exif-orientation-examples__Landscape_6.jpg"), to: .fit(300, 300))
        func encoder(_ limit: Int?) -> ImageEncoder {
            switch format {
            case .jpeg:
                var options = ImageEncoder.JPEGOptions(quality: 90)
                options.maxBytes = limit
                return ImageEncoder(.jpeg(options))
            case .webp:
                var options = ImageEncoder.WebPOptions(quality: 90)
                options.maxBytes = limit
                return ImageEncoder(.webp(options))
            default:
                var options = ImageEncoder.AVIFOptions(quality: 90)
                options.maxBytes = limit
                return ImageEncoder(.avif(options))
            }
        }
        let free = try encoder(nil).encode(photo)
        #expect(try encoder(free.count).encode(photo) == free)
        let limit = free.count / 3
        let small = try encoder(limit).encode(photo)
        #expect(small.count <= limit && small.count > limit / 2)
        #expect(try encoder(limit).encode(photo) == small)
        #expect(encoder(limit).recipe == encoder(nil).recipe + ",max=\(limit)")
        #expect(try encoder(10).encode(photo).count > 10)
    }

    @Test func `a lossless WebP ignores the byte limit`() throws {
        var options = ImageEncoder.WebPOptions(isLossless: true)
        let photo = try ImageDecoder().decode(Corpus.shared.source("png/codec-corpus__24.png"), to: .fit(50, 50))
        let free = try ImageEncoder(.webp(options)).encode(photo)
        options.maxBytes = 100
        #expect(try ImageEncoder(.webp(options)).encode(photo) == free)
    }
}
