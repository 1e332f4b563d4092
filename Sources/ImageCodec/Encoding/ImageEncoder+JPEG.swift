internal import CImageCodec

extension ImageEncoder {
    func encodeJPEG(
        _ image: DecodedImage, _ options: JPEGOptions, _ budget: ImageBudget, _ memory: Int
    ) throws(ImageCodecError) -> [UInt8] {
        guard (1...100).contains(options.quality) else {
            throw ImageCodecError(.invalidArgument, format: .jpeg, "a quality of \(options.quality), not 1 ... 100")
        }
        guard image.width <= 65500, image.height <= 65500 else {
            throw ImageCodecError(
                .invalidArgument, format: .jpeg, "\(image.width) x \(image.height) pixels, a side may have 65500")
        }
        let opaque = try image.flattened(onto: options.background, within: budget)
        var lowered = icodec_jpeg_options()
        lowered.quality = Int32(options.quality)
        lowered.progressive = options.isProgressive
        lowered.optimized = options.holdsCoefficients(image.width * image.height)
        lowered.memory = UInt64(clamping: memory)
        lowered.gray = try opaque.isGray(within: budget)
        lowered.sampling =
            switch options.subsampling {
            case .yes420: Int32(ICODEC_SAMPLING_420)
            case .yes422: Int32(ICODEC_SAMPLING_422)
            case .none444: Int32(ICODEC_SAMPLING_444)
            }
        // A colour profile is not valid for a grayscale image.
        let profile = image.profile ?? []
        if !profile.isEmpty { lowered.gray = false }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try profile.withUnsafeBufferPointer { (profile) throws(ImageCodecError) in
            try (image.exif ?? []).withUnsafeBufferPointer { (exif) throws(ImageCodecError) in
                lowered.icc = profile.baseAddress
                lowered.icc_size = profile.count
                lowered.exif = exif.baseAddress
                lowered.exif_size = exif.count
                try budget.measured(.jpeg) { watch, error in
                    icodec_jpeg_encode(
                        opaque.pixels.bytes, UInt32(image.width), UInt32(image.height), image.bytesPerRow, &lowered,
                        &watch, &bytes, &count, &error)
                }
            }
        }
        return Self.take(bytes, count)
    }
}

extension DecodedImage {
    /// Returns true if red, green and blue are equal in every pixel.
    func isGray(within budget: ImageBudget) throws(ImageCodecError) -> Bool {
        var isGray = true
        try budget.eachPart(width * height) { part in
            isGray = isGray && icodec_is_gray(pixels.bytes + part.lowerBound * 4, part.count)
        }
        return isGray
    }
}
