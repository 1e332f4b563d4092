/// A format of image files, detected by the first bytes of a file: never by its name or its Content-Type.
///
/// Formats of an application's own codecs (``ImageDecoding``, ``ImageEncoding``) are values of this type too:
///
///     extension ImageFormat {
///         static let qoi = ImageFormat(name: "QOI", mediaType: "image/qoi")
///     }
public struct ImageFormat: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The format's name, unique among formats.
    public let name: String

    /// The media type of RFC 6838 by which the format is registered.
    public let mediaType: String

    public init(name: String, mediaType: String) {
        self.name = name
        self.mediaType = mediaType
    }

    public static let jpeg = ImageFormat(name: "JPEG", mediaType: "image/jpeg")
    public static let png = ImageFormat(name: "PNG", mediaType: "image/png")
    public static let webp = ImageFormat(name: "WebP", mediaType: "image/webp")
    public static let gif = ImageFormat(name: "GIF", mediaType: "image/gif")
    public static let avif = ImageFormat(name: "AVIF", mediaType: "image/avif")
    public static let heif = ImageFormat(name: "HEIF", mediaType: "image/heif")
    public static let svg = ImageFormat(name: "SVG", mediaType: "image/svg+xml")
    public static let tiff = ImageFormat(name: "TIFF", mediaType: "image/tiff")
    public static let bmp = ImageFormat(name: "BMP", mediaType: "image/bmp")
    public static let ico = ImageFormat(name: "ICO", mediaType: "image/vnd.microsoft.icon")
    public static let jpegXL = ImageFormat(name: "JPEG XL", mediaType: "image/jxl")
    public static let jpeg2000 = ImageFormat(name: "JPEG 2000", mediaType: "image/jp2")

    /// The formats that ``detect(_:)`` recognizes.
    public static let allCases: [ImageFormat] = [
        .jpeg, .png, .webp, .gif, .avif, .heif, .svg, .tiff, .bmp, .ico, .jpegXL, .jpeg2000,
    ]

    /// The recognized format with a name.
    package init?(known name: String) {
        guard let format = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = format
    }

    /// Media types that are not registered, or of a kind of the format, but that servers send.
    private static let otherMediaTypes: [String: ImageFormat] = [
        "image/jpg": .jpeg, "image/heic": .heif, "image/x-ms-bmp": .bmp, "image/x-icon": .ico,
    ]

    /// The recognized format with a media type in lowercase.
    package init?(mediaType: String) {
        let registered = Self.allCases.first { $0.mediaType == mediaType }
        guard let format = registered ?? Self.otherMediaTypes[mediaType] else { return nil }
        self = format
    }

    public static func == (left: Self, right: Self) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    public var description: String { name }

    /// True for the formats that the package itself reads.
    public var isSupported: Bool { decoding != nil }

    /// The formats that are decoded in worker processes only.
    package static let inWorkersOnly: Set<ImageFormat> = [.heif, .jpegXL, .tiff]

    /// The formats for which a registered decoder of an application comes before the package's.
    static let replaceable = inWorkersOnly.union([.bmp, .ico])

    /// True for the formats that the package itself writes.
    public var isWritten: Bool { ImageEncoder.ownFormats.contains(self) }

    /// Bytes from the start of a file that are enough for ``detect(_:)``.
    public static let signatureLength = 2048

    /// Identifies the format of a file by its first bytes; nil if no signature matches.
    ///
    /// - Parameter start: The first ``signatureLength`` bytes of the file, or all of a shorter one.
    public static func detect(_ start: some Collection<UInt8>) -> ImageFormat? {
        let bytes = Array(start.prefix(signatureLength))
        func has(_ signature: String, at offset: Int = 0) -> Bool {
            bytes.dropFirst(offset).starts(with: signature.utf8)
        }
        if bytes.starts(with: [0xFF, 0xD8]), bytes.count < 3 || bytes[2] == 0xFF { return .jpeg }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if has("RIFF"), has("WEBP", at: 8) { return .webp }
        if has("GIF87a") || has("GIF89a") { return .gif }
        if bytes.starts(with: [0x49, 0x49, 0x2A, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 0x2A])
            || bytes.starts(with: [0x49, 0x49, 0x2B, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 0x2B])
        {
            return .tiff
        }
        if has("ftyp", at: 4) { return isoBaseMedia(bytes) }
        if has("BM"), RasterSignature.isBMP(bytes) { return .bmp }
        if RasterSignature.isICO(bytes) { return .ico }
        if bytes.starts(with: [0xFF, 0x0A]) || has("JXL ", at: 4) { return .jpegXL }
        if has("jP  ", at: 4) || bytes.starts(with: [0xFF, 0x4F, 0xFF, 0x51]) { return .jpeg2000 }
        return SVGSignature.matches(bytes) ? .svg : nil
    }

    /// Distinguishes AVIF and HEIF by the brands in the file type box (ISO/IEC 14496-12).
    private static func isoBaseMedia(_ bytes: [UInt8]) -> ImageFormat? {
        let length = min(bytes.count, bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) })
        var brands: [String] = []
        // The major brand, then (after a version) the compatible ones.
        for start in stride(from: 8, to: length - 3, by: 4) where start != 12 {
            brands.append(String(decoding: bytes[start..<start + 4], as: UTF8.self))
        }
        if brands.contains("avif") || brands.contains("avis") { return .avif }
        let heif: Set = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
        return brands.contains(where: heif.contains) ? .heif : nil
    }
}
