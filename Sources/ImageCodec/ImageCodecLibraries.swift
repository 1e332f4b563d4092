internal import CImageCodec

/// The libraries of the formats.
package enum ImageCodecLibraries {
    /// Lets this process decode ``ImageFormat/inWorkersOnly``, which other processes refuse: a worker, or a test.
    package static func allowWorkerFormats() { icodec_allow_worker_formats() }

    /// Opens and initialises all installed libraries, for a process that is about to lose the right to open files, or only lists them. Some libraries
    /// read files to detect the processor's features.
    package static func prepare() {
        allowWorkerFormats()
        icodec_open_libraries()
        _ = selfTest()
        var description = icodec_description()
        description.gamma = 0.5
        _ = try? ColorConversion(ImageHeader(description, .png, fileSize: 0), .convertToSRGB)
    }

    /// Writes a small image in each format, and reads it again.
    ///
    /// - Returns: For each format the file, or the reason why there is none.
    package static func selfTest() -> [(format: String, file: Result<[UInt8], ImageCodecError>)] {
        let encoders = [
            ("JPEG", ImageEncoder.jpeg()), ("PNG", .png()), ("WebP", .webp()), ("AVIF", .avif()), ("GIF", .gif()),
        ]
        return encoders.map { format, encoder in
            let file = Result { () throws(ImageCodecError) -> [UInt8] in
                let image = try DecodedImage(
                    width: 16, height: 16, fill: { $0.copyBytes(from: (0...255).map(UInt8.init)) })
                let bytes = try encoder.encode(image)
                _ = try ImageDecoder().decode(ImageSource(bytes))
                return bytes
            }
            return (format, file)
        }
    }
}
