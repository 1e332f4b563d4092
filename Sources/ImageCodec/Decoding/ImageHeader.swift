internal import CImageCodec

/// A file's header, copied from the C target.
///
/// `@unchecked Sendable`: consists of values; the description's pointers are set to nil.
package struct ImageHeader: @unchecked Sendable {
    package let format: ImageFormat
    var width: Int
    var height: Int
    var description: icodec_description
    var profile: [UInt8]?
    var exif: ExifBlock?
    /// The way in which the image is to be turned, by Exif or by the container.
    package var orientation = ImageOrientation.up
    /// True if frames are composed on a canvas (``showing(frame:)``, ``showingFrames``).
    var composesFrames = false
    /// The size of the file in bytes.
    package let fileSize: Int
    /// The application's decoder that read it; nil: the package's own.
    var registered: Registered?

    /// An application's decoder.
    struct Registered: Sendable {
        let identity: String
        /// The memory in bytes that decoding needs in addition to the pixels.
        let memory: Int
    }

    /// The name and version of the application's decoder; nil: the package's own.
    package var decoderIdentity: String? { registered?.identity }

    init(_ description: icodec_description, _ format: ImageFormat, fileSize: Int) {
        self.format = format
        self.fileSize = fileSize
        self.description = description
        width = Int(description.width)
        height = Int(description.height)
        if let icc = description.icc, description.icc_size > 0 {
            profile = Array(UnsafeBufferPointer(start: icc, count: description.icc_size))
        }
        if let bytes = description.exif, description.exif_size > 0 {
            exif = ExifBlock(Array(UnsafeBufferPointer(start: bytes, count: description.exif_size)))
            orientation = exif?.orientation ?? .up
        }
        // The pointers refer to the decoder.
        self.description.icc = nil
        self.description.exif = nil
    }

    /// The header for the decode of a frame.
    package func showing(frame: Int) -> ImageHeader { frame > 0 ? composingFrames : self }

    /// The header for the decode of all frames.
    package var showingFrames: ImageHeader { isAnimated ? composingFrames : self }

    /// The header for frames that are composited on a canvas. The canvas may be transparent, even if the first frame is opaque.
    private var composingFrames: ImageHeader {
        var header = self
        header.composesFrames = true
        header.description.has_alpha = true
        header.description.fills_canvas = false
        return header
    }

    var size: ResizePlan.Size { ResizePlan.Size(width: width, height: height) }

    /// The upright size.
    func size(_ orientation: ImageOrientation) -> ResizePlan.Size {
        orientation.swapsSides ? ResizePlan.Size(width: height, height: width) : size
    }
}
