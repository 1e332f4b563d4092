internal import CImageCodec

/// The libraries of the formats.
package enum ImageCodecLibraries {
    /// Opens and initialises all installed libraries, for a process that is about to lose the right to open files. Some libraries read
    /// files to detect the processor's features.
    package static func prepare() {
        icodec_open_libraries()
        guard
            let image = try? DecodedImage(
                width: 16, height: 16, fill: { $0.copyBytes(from: (0...255).map(UInt8.init)) })
        else { return }
        for encoder in [ImageEncoder.jpeg(), .png(), .webp(), .avif(), .gif()] {
            guard let file = try? encoder.encode(image) else { continue }
            _ = try? ImageDecoder().decode(ImageSource(file))
        }
        var description = icodec_description()
        description.gamma = 0.5
        _ = try? ColorConversion(ImageHeader(description, .png, fileSize: 0), .convertToSRGB)
    }
}
