internal import CImageCodec

extension ImageHeader {
    /// The size as displayed: after rotation by the orientation.
    package var displayedSize: (width: Int, height: Int) {
        let turned = size(orientation)
        return (turned.width, turned.height)
    }

    /// The number of bits of a stored sample.
    package var bitDepth: Int { Int(description.bit_depth) }

    /// True if the image has an alpha channel, even if it is opaque.
    package var hasAlpha: Bool { description.has_alpha }

    package var isProgressive: Bool { description.interlaced }

    /// The name of the embedded profile; without one `gray`, `CMYK` or `sRGB`.
    package var colorSpace: String {
        if let profile { return ColorProfile(profile).name ?? "unnamed profile" }
        guard format == .jpeg else { return "sRGB" }
        return switch description.components {
        case 1: "gray"
        case 4: "CMYK"
        default: "sRGB"
        }
    }
}
