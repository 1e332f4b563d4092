internal import CImageCodec

/// An embedded ICC profile (ISO 15076-1).
struct ColorProfile {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Its description, nil where it has none or is broken.
    var name: String? { nil }
}
