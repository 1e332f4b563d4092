internal import CImageCodec

extension ImageEncoder {
    func encodeJPEG(_ image: DecodedImage, _ options: JPEGOptions) throws(ImageCodecError) -> [UInt8] {
        guard (1...100).contains(options.quality) else {
            throw ImageCodecError(.invalidArgument, format: .jpeg, "a quality of \(options.quality), not 1 ... 100")
        }
        guard image.width <= 65500, image.height <= 65500 else {
            throw ImageCodecError(
                .invalidArgument, format: .jpeg, "\(image.width) x \(image.height) pixels, a side may have 65500")
        }
        let opaque = try image.flattened(onto: options.background)
        var lowered = icodec_jpeg_options()
        lowered.quality = Int32(options.quality)
        lowered.progressive = options.isProgressive
        lowered.gray = icodec_is_gray(opaque.pixels.bytes, opaque.width * opaque.height)
        lowered.sampling =
            switch options.subsampling {
            case .yes420: Int32(ICODEC_SAMPLING_420)
            case .yes422: Int32(ICODEC_SAMPLING_422)
            case .none444: Int32(ICODEC_SAMPLING_444)
            }
        // A profile of colours does not go with an image of gray.
        let profile = image.profile ?? []
        if !profile.isEmpty { lowered.gray = false }
        var error = icodec_error()
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        let done = profile.withUnsafeBufferPointer { profile in
            (image.exif ?? []).withUnsafeBufferPointer { exif in
                lowered.icc = profile.baseAddress
                lowered.icc_size = profile.count
                lowered.exif = exif.baseAddress
                lowered.exif_size = exif.count
                return icodec_jpeg_encode(
                    opaque.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow, &lowered, &bytes,
                    &count, &error)
            }
        }
        guard done else { throw ImageCodecError(error, format: .jpeg) }
        return Self.take(bytes, count)
    }
}
