internal import Glibc

/// The encoder of one image format, with its options. A new format is a type of this protocol, and its case in
/// ``ImageEncoder/Options``.
protocol FormatEncoding {
    var format: ImageFormat { get }

    /// A text that is the same for equal options and for no others: thumbnails are stored under it, so it never changes.
    var recipe: String { get }

    /// The limit of the file's size; `nil` if there is none.
    var sizeLimit: FileSizeLimit? { get }

    /// The same options with another quality; the format's own scale.
    func with(quality: Int) -> Self

    /// The memory in bytes that encoding needs in addition to the image's pixels, 512 KiB for streams, and 256 bytes for each column.
    func memory(pixels: Int, isOpaque: Bool) -> Int

    /// Encodes an image.
    ///
    /// - Parameter memory: The most bytes that the file may have.
    func encode(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8]
}

extension FormatEncoding {
    var sizeLimit: FileSizeLimit? { nil }

    func with(quality: Int) -> Self { self }

    /// Encodes an image, with a lower quality than asked for if the file would be larger than the limit.
    func encodeWithinLimit(
        _ image: DecodedImage, within budget: ImageBudget, memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        var best = try encode(image, within: budget, memory: memory)
        guard let sizeLimit, best.count > sizeLimit.bytes else { return best }
        var search = QualitySearch(sizeLimit, size: best.count)
        while let quality = search.next {
            let file = try with(quality: quality).encode(image, within: budget, memory: memory)
            if search.isBetter(file.count, than: best.count) { best = file }
            search.note(file.count, at: quality)
        }
        return best
    }
}

/// The most bytes that a file may have, and the quality that it has if that suffices.
struct FileSizeLimit: Equatable {
    let bytes: Int
    let quality: Int

    /// Its part of ``FormatEncoding/recipe``.
    var recipe: String { ",max=\(bytes)" }
}

/// The search for the highest quality at which a file is small enough. It tries at most four, none below ``lowest``.
struct QualitySearch {
    static let lowest = 10
    /// A file of at least this share of the limit is not improved further.
    private static let enough = 0.9

    private let limit: FileSizeLimit
    /// The lowest quality that was too large, and the size of that file.
    private var above: (quality: Int, size: Int)
    /// The highest quality that was small enough.
    private var below: (quality: Int, size: Int)?
    private var left = 4

    /// - Parameter size: The size of the file at the limit's quality, which is too large.
    init(_ limit: FileSizeLimit, size: Int) {
        self.limit = limit
        above = (limit.quality, size)
    }

    /// The quality to try; `nil` if the search has ended.
    var next: Int? {
        guard left > 0 else { return nil }
        guard let below else {
            guard above.quality > Self.lowest else { return nil }
            let share = Double(above.quality) * Double(limit.bytes) / Double(above.size)
            return left == 1 ? Self.lowest : max(Self.lowest, min(above.quality - 1, Int(share)))
        }
        guard above.quality - below.quality > 1, Double(below.size) < Double(limit.bytes) * Self.enough else {
            return nil
        }
        // The logarithm of the size is nearly linear in the quality.
        let (low, high) = (log(Double(below.size)), log(Double(above.size)))
        let place = high > low ? (log(Double(limit.bytes) * 0.97) - low) / (high - low) : 0.5
        let quality = below.quality + Int(place * Double(above.quality - below.quality))
        return min(above.quality - 1, max(below.quality + 1, quality))
    }

    mutating func note(_ size: Int, at quality: Int) {
        left -= 1
        if size <= limit.bytes { below = (quality, size) } else { above = (quality, size) }
    }

    /// True if a file of a size is the better result: the largest that is small enough, otherwise the smallest.
    func isBetter(_ size: Int, than other: Int) -> Bool {
        switch (size <= limit.bytes, other <= limit.bytes) {
        case (true, true): size > other
        case (true, false): true
        case (false, true): false
        case (false, false): size < other
        }
    }
}
