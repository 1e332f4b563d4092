internal import CImageCodec

/// The colour conversion of a decoded image. Not Sendable: each decode has its own.
final class ColorConversion {
    /// The profile of the result.
    let keptProfile: [UInt8]?
    /// True if CMYK pixels are kept, so that the profile can convert them.
    let keepsCMYK: Bool
    private let transform: OpaquePointer?

    /// - Throws: `failed` or `outOfMemory` where the library of colours cannot be used: an image without its conversion would be a wrong one.
    init(_ header: ImageHeader, _ handling: ImageDecoder.ColorHandling) throws(ImageCodecError) {
        let description = header.description
        // The result is RGB, which a profile of gray does not describe: such an image is converted.
        let isKept = description.is_cmyk || header.profile.map { ColorProfile($0).isRGB } ?? true
        guard handling == .convertToSRGB || !isKept else {
            keptProfile = description.is_cmyk ? nil : header.profile
            keepsCMYK = false
            transform = nil
            return
        }
        keptProfile = nil
        var isUsable = false
        var made: OpaquePointer?
        var error = icodec_error()
        if let profile = header.profile {
            let pixels =
                description.is_cmyk ? ICODEC_PIXELS_CMYK : description.is_gray ? ICODEC_PIXELS_GRAY : ICODEC_PIXELS_RGBA
            made = icodec_transform_create(profile, profile.count, Int32(pixels), &isUsable, &error)
        }
        // In the order of browsers: a profile, then the sRGB chunk, then gAMA and cHRM.
        if error.code == 0, !isUsable, !description.says_srgb {
            made = withUnsafeBytes(of: description.chromaticities) { places in
                icodec_transform_create_from_gamma(
                    description.gamma, places.assumingMemoryBound(to: Double.self).baseAddress,
                    &error)
            }
        }
        guard error.code == 0 else { throw ImageCodecError(error, format: header.format) }
        transform = made
        keepsCMYK = description.is_cmyk && made != nil
    }

    deinit { icodec_transform_destroy(transform) }

    /// Converts pixels in place.
    func apply(to pixels: PixelBuffer, _ budget: ImageBudget) throws(ImageCodecError) {
        guard let transform else { return }
        try budget.measured { watch, error in
            icodec_transform_apply(transform, pixels.bytes, pixels.byteCount / 4, &watch, &error)
        }
    }
}
