internal import CImageCodec

/// The decoder of one image format. A new format is a type of this protocol, and its case in ``ImageFormat/decoding``.
protocol FormatDecoding {
    /// True if the library requires all bytes of a file at once, also for its header.
    static var readsWhole: Bool { get }

    /// Reads the header of a file.
    static func header(of source: ImageSource, limits: icodec_limits) throws(ImageCodecError) -> ImageHeader

    /// The reduction by the decoder itself, before the filter brings the image to its size.
    ///
    /// - Parameter size: The size before turning and cropping.
    static func scale(of header: ImageHeader, for size: ResizePlan.Size) -> DecodingScale

    /// The decoder's memory in bytes, in addition to 256 KiB for streams and 160 bytes for each column.
    static func memory(of header: ImageHeader, at scale: DecodingScale) -> Int

    /// Decodes a file for the outputs of a pass.
    static func decode(_ source: ImageSource, _ pass: DecodingPass, by decoder: ImageDecoder) throws(ImageCodecError)
}

extension FormatDecoding {
    static var readsWhole: Bool { false }
}

extension ImageFormat {
    /// The decoder of the format, or `nil` if files of the format are recognised but not decoded.
    var decoding: (any FormatDecoding.Type)? {
        if self == .jpeg { return JPEGDecoding.self }
        if self == .png { return PNGDecoding.self }
        if self == .webp { return WebPDecoding.self }
        if self == .avif { return AVIFDecoding.self }
        if self == .heif { return HEIFDecoding.self }
        if self == .jpegXL { return JPEGXLDecoding.self }
        if self == .tiff { return TIFFDecoding.self }
        if self == .bmp { return BMPDecoding.self }
        if self == .ico { return ICODecoding.self }
        return self == .gif ? GIFDecoding.self : nil
    }
}

extension ImageSource {
    /// The format of the file and its decoder.
    ///
    /// - Throws: `unsupportedFormat`, and `limitExceeded` when the file is larger than allowed.
    func decoding(
        _ limits: DecodingLimits
    ) throws(ImageCodecError) -> (format: ImageFormat, decoder: any FormatDecoding.Type) {
        let format = try format()
        guard let decoder = format.decoding else { throw .unsupported(format) }
        try limits.check(self, format: format)
        return (format, decoder)
    }
}
