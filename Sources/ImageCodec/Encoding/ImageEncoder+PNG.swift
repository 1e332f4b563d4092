internal import CImageCodec

extension ImageEncoder {
    func encodePNG(_ image: DecodedImage, _ options: PNGOptions) throws(ImageCodecError) -> [UInt8] {
        guard (0...9).contains(options.level) else {
            throw ImageCodecError(.invalidArgument, format: .png, "a level of \(options.level), not 0 ... 9")
        }
        let count = image.width * image.height
        var palette = [UInt8](repeating: 0, count: 1024)
        var indices: [UInt8] = []
        var colors: UInt32 = 0
        if options.usesPalette {
            indices = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                if let start = buffer.baseAddress {
                    colors = icodec_index_pixels(image.pixels.bytes, count, &palette, start)
                }
                initialized = colors > 0 ? count : 0
            }
        }
        var lowered = icodec_png_options()
        lowered.level = Int32(options.level)
        lowered.colors = colors
        lowered.has_alpha = !image.isOpaque
        // A profile of colours does not go with an image of gray.
        lowered.gray = image.isOpaque && image.profile == nil && icodec_is_gray(image.pixels.bytes, count)
        let profile = image.profile ?? []
        let exif = image.exif ?? []
        var error = icodec_error()
        var bytes: UnsafeMutablePointer<UInt8>?
        var length = 0
        let done = profile.withUnsafeBufferPointer { profile in
            exif.withUnsafeBufferPointer { exif in
                palette.withUnsafeBufferPointer { palette in
                    indices.withUnsafeBufferPointer { indices in
                        lowered.icc = profile.baseAddress
                        lowered.icc_size = profile.count
                        lowered.exif = exif.baseAddress
                        lowered.exif_size = exif.count
                        lowered.palette = palette.baseAddress
                        lowered.indices = indices.baseAddress
                        return icodec_png_encode(
                            image.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow, &lowered,
                            &bytes, &length, &error)
                    }
                }
            }
        }
        guard done else { throw ImageCodecError(error, format: .png) }
        return Self.take(bytes, length)
    }
}
