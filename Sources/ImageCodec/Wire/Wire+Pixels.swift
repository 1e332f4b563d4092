extension DecodedImage {
    /// Writes a copy of the image.
    package func copy(by coder: inout WireCoder) throws(WireCoder.Malformed) { _ = try write(by: &coder, isCopy: true) }

    /// Writes the image, which must not be used any more: its pixels travel by a descriptor where that is possible.
    ///
    /// - Returns: The descriptor of the pixels, which belongs to the caller; nil: they are among the bytes.
    package func surrender(by coder: inout WireCoder) throws(WireCoder.Malformed) -> Int32? {
        try write(by: &coder, isCopy: false)
    }

    private func write(by coder: inout WireCoder, isCopy: Bool) throws(WireCoder.Malformed) -> Int32? {
        var (width, height, isOpaque, profile, exif, damage) = (width, height, isOpaque, profile, exif, damage)
        try coder.code(&width)
        try coder.code(&height)
        try coder.code(&isOpaque)
        try coder.code(&profile)
        try coder.code(&exif)
        try coder.code(&damage, from: ImageCodecError(.failed, ""))
        let memory = isCopy ? nil : pixels.shared
        var isShared = memory != nil
        try coder.code(&isShared)
        if let memory { return memory.surrender() }
        var bytes = withUnsafeBytes { Array($0) }
        try coder.code(&bytes)
        return nil
    }

    /// Reads an image.
    ///
    /// - Parameter descriptor: Of the pixels, if one came along. It is not needed any more afterwards.
    package init(from coder: inout WireCoder, _ descriptor: Int32?) throws(WireCoder.Malformed) {
        var (width, height, isOpaque, isShared) = (0, 0, false, false)
        var (profile, exif): ([UInt8]?, [UInt8]?) = (nil, nil)
        var damage: ImageCodecError?
        try coder.code(&width)
        try coder.code(&height)
        try coder.code(&isOpaque)
        try coder.code(&profile)
        try coder.code(&exif)
        try coder.code(&damage, from: ImageCodecError(.failed, ""))
        try coder.code(&isShared)
        let sides = 1...Int(Int32.max)
        guard sides.contains(width), sides.contains(height), width * height <= 1 << 40 else {
            throw WireCoder.Malformed()
        }
        let count = width * height * 4
        let buffer: PixelBuffer
        if isShared {
            // Thousands of images may stay in memory, so none of them keeps a descriptor.
            guard let descriptor, let memory = SharedMemory(adopting: descriptor, byteCount: count, isSentOn: false)
            else { throw WireCoder.Malformed() }
            buffer = PixelBuffer(memory)
        } else {
            var bytes: [UInt8] = []
            try coder.code(&bytes)
            guard bytes.count == count else { throw WireCoder.Malformed() }
            do throws(ImageCodecError) { buffer = try PixelBuffer(byteCount: count) } catch {
                throw WireCoder.Malformed()
            }
            UnsafeMutableRawBufferPointer(start: buffer.bytes, count: count).copyBytes(from: bytes)
        }
        self.init(width: width, height: height, pixels: buffer, isOpaque: isOpaque)
        self.profile = profile
        self.exif = exif
        self.damage = damage
    }
}

extension DecodedRows {
    /// The rows of a file in memory that another process has handed over; nil if there is not as much as they take.
    ///
    /// - Parameter descriptor: It is duplicated.
    package convenience init?(_ header: ImageHeader, _ scale: DecodingScale, adopting descriptor: Int32) {
        guard let cost = Self.cost(of: header, at: scale),
            let memory = SharedMemory(adopting: descriptor, byteCount: cost, isSentOn: true)
        else { return nil }
        self.init(header, scale, header.size(at: scale), memory)
    }

    /// The rows of the process that this one works for.
    ///
    /// - Parameter descriptor: Is not needed any more afterwards.
    package convenience init?(_ header: ImageHeader, _ scale: DecodingScale, trusting descriptor: Int32) {
        guard let cost = Self.cost(of: header, at: scale),
            let memory = SharedMemory(trusting: descriptor, byteCount: cost)
        else { return nil }
        self.init(header, scale, header.size(at: scale), memory)
    }
}
