internal import CImageCodec

/// What is to be done to a decoded image's colours.
final class ColorConversion {
    /// CMYK pixels are needed as ink.
    let takesInk: Bool
    /// The profile to hand on.
    let keptProfile: [UInt8]?

    init(_ header: ImageHeader, _ handling: ImageDecoder.ColorHandling) {
        takesInk = false
        keptProfile = handling == .keepProfile && !header.description.is_cmyk ? header.profile : nil
    }

    func apply(to pixels: PixelBuffer) {}
}
