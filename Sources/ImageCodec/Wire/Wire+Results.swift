internal import CImageCodec

/// The package's formats, whose media types can be sent to clients.
extension ImageFormat: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        var name = name
        try coder.code(&name)
        guard let known = ImageFormat(known: name) else { throw WireCoder.Malformed() }
        self = known
    }
}

extension ImageCodecError: WireCodable {
    private static let codes: [Code] = [
        .failed, .unsupportedFormat, .corrupt, .truncated, .limitExceeded, .outOfMemory, .unreadable, .invalidArgument,
        .cancelled, .crashed, .unavailable,
    ]

    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        guard let own = Self.codes.firstIndex(of: code) else { throw WireCoder.Malformed() }
        let number = try coder.code(case: own)
        guard Self.codes.indices.contains(number) else { throw WireCoder.Malformed() }
        code = Self.codes[number]
        try coder.code(&format, from: .jpeg)
        try coder.code(&offset)
        try coder.code(&reason)
        try coder.code(&isOfProcess)
    }
}

extension ImageHeader {
    /// An empty header to decode into.
    package static var none: ImageHeader { ImageHeader(icodec_description(), .jpeg, fileSize: 0) }
}

/// Headers of the package's own decoders.
extension ImageHeader: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        var (format, fileSize, exif) = (format, fileSize, exif?.bytes)
        try coder.code(&format)
        try coder.code(&fileSize)
        try coder.code(&profile)
        try coder.code(&exif)
        var description = description
        try description.code(by: &coder)
        var turn = orientation.rawValue
        try coder.code(&turn)
        try coder.code(&composesFrames)
        guard coder.isReading else { return }
        guard let orientation = ImageOrientation(rawValue: turn), description.width > 0, description.height > 0,
            fileSize >= 0
        else { throw WireCoder.Malformed() }
        let (profile, composesFrames) = (profile, composesFrames)
        self = ImageHeader(description, format, fileSize: fileSize)
        self.composesFrames = composesFrames
        self.profile = profile
        self.exif = exif.map { ExifBlock($0) }
        self.orientation = orientation
    }

    /// True if a file within the limits may have such a header. Used for headers that another process has read.
    package func isPossible(within limits: DecodingLimits) -> Bool {
        // Larger numbers overflow where no limit is set.
        let most = 1 << 40
        let (area, isTooMany) = width.multipliedReportingOverflow(by: height)
        return width > 0 && height > 0 && !isTooMany && area <= min(limits.pixels, most)
            && max(width, height) <= min(limits.side, Int(Int32.max)) && fileSize <= min(limits.bytes, most)
            && description.coefficients <= most && description.coarse_coefficients <= most
            && description.decoded_bytes <= most
    }

    /// Without its profile and its Exif block, which may be large.
    package var bare: ImageHeader {
        var header = self
        (header.profile, header.exif) = (nil, nil)
        return header
    }
}

extension icodec_description {
    fileprivate mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&width)
        try coder.code(&height)
        try coder.code(&components)
        try coder.code(&bit_depth)
        try coder.code(&frames)
        try coder.code(&loops)
        try coder.code(&milliseconds)
        try coder.code(&has_alpha)
        try coder.code(&interlaced)
        try coder.code(&is_cmyk)
        try coder.code(&is_inverted)
        try coder.code(&is_gray)
        try coder.code(&is_lossless)
        try coder.code(&fills_canvas)
        try coder.code(&coefficients)
        try coder.code(&coarse_coefficients)
        try coder.code(&decoded_bytes)
        try coder.code(&says_srgb)
        try coder.code(&gamma)
        try coder.code(&chromaticities.0)
        try coder.code(&chromaticities.1)
        try coder.code(&chromaticities.2)
        try coder.code(&chromaticities.3)
        try coder.code(&chromaticities.4)
        try coder.code(&chromaticities.5)
        try coder.code(&chromaticities.6)
        try coder.code(&chromaticities.7)
    }
}
