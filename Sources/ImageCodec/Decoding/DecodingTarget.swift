internal import CImageCodec

/// The reduction by the decoder, before the filter resizes to the final size. Images of one file with an equal scale
/// are made from the same decoded rows.
package enum DecodingScale: Hashable, Sendable {
    /// A JPEG at this many eighths of its size.
    case eighths(Int)
    /// The stored size.
    case whole
    /// A WebP averaged by its decoder to this size.
    case size(width: Int, height: Int)
}

/// An image to be made from a file, as far as the file's header determines it.
package struct DecodingTarget: Sendable {
    package let scale: DecodingScale
    /// The width of the result, in pixels.
    package let width: Int
    package let height: Int
    let sizing: ImageSizing?
    let plan: StoredPlan
    /// The filter's memory in bytes, in addition to the shared rows.
    let filterMemory: Int

    /// The memory of the image until it is complete, in bytes, without the decoder's.
    package var memory: Int { plan.memory + filterMemory }
}

extension ImageDecoder {
    /// The header of a file, for ``target(_:of:)``.
    ///
    /// - Parameter budget: The budget of the image that the header is read for. Default: a new one.
    package func header(
        of source: ImageSource, within budget: ImageBudget? = nil
    ) throws(ImageCodecError) -> ImageHeader {
        let budget = budget ?? ImageBudget(limits: limits)
        if let decoder = try registeredDecoder(of: source) {
            return try budget.accounting { () throws(ImageCodecError) in try self.header(of: source, by: decoder) }
        }
        let decoder = try source.decoding(limits).decoder
        return try budget.measured { (watch) throws(ImageCodecError) in
            try decoder.header(of: source, limits: limits.lowered(allowTruncated: true, watch))
        }
    }

    /// True if all bytes of a file are in memory while its header is read. A registered decoder may read them all.
    package func readsWhole(_ source: ImageSource) throws(ImageCodecError) -> Bool {
        // A larger file is refused before.
        guard source.byteCount <= limits.bytes else { return false }
        if try isRegistered(for: source) { return true }
        return ImageFormat.detect(try source.prefix(ImageFormat.signatureLength))?.decoding?.readsWhole ?? false
    }

    /// The requirements of an image of a given size for a file with this header.
    ///
    /// - Throws: `invalidArgument` for a box without sides, `limitExceeded` if the result, an intermediate image or
    ///   their memory would be too large.
    package func target(_ sizing: ImageSizing?, of header: ImageHeader) throws(ImageCodecError) -> DecodingTarget {
        let plan = try plan(sizing, header)
        let scale = header.format.decoding?.scale(of: header, for: plan.scaled) ?? .whole
        let resizing = Resizing(header, scale, plan, hasAlpha: true, linear: usesLinearLight)
        let target = DecodingTarget(
            scale: scale, width: plan.seen.result.width, height: plan.seen.result.height, sizing: sizing, plan: plan,
            filterMemory: resizing.isIdentity ? 0 : resizing.memory)
        try limits.check(memory: target.memory + header.memory(at: scale), format: header.format)
        return target
    }
}

extension ImageHeader {
    /// The size of the rows that a decoder produces at a scale.
    func size(at scale: DecodingScale) -> ResizePlan.Size {
        switch scale {
        case .eighths(let eighths):
            ResizePlan.Size(width: (width * eighths + 7) / 8, height: (height * eighths + 7) / 8)
        case .size(let width, let height): ResizePlan.Size(width: width, height: height)
        case .whole: size
        }
    }

    /// The decoder's memory in bytes, in addition to the resulting images: its state and pixels.
    package func memory(at scale: DecodingScale) -> Int {
        let streams = 256 << 10
        // Lines in progress: the decoder's, and up to sixteen passed to the filters.
        let lines = width * 160
        // The decoder's copies of profile and Exif block, and the header's.
        let blocks = ((profile?.count ?? 0) + (exif?.bytes.count ?? 0)) * 2
        if let registered { return width * height * 4 + lines + blocks + registered.memory }
        // The canvas, the copy from which a frame is restored, and the decoder's own canvas.
        let canvases = composesFrames ? width * height * 12 : 0
        return streams + lines + blocks + canvases + (format.decoding?.memory(of: self, at: scale) ?? 0)
    }

    /// True if the result may have pixels that are not opaque.
    package var mayHaveAlpha: Bool { format != .jpeg && description.has_alpha }

    /// A measure of the decoding work: the number of stored pixels.
    package var pixelCount: Int { width * height }
}

extension StoredPlan {
    /// The memory of the pixels in bytes, from the filter's result to the last step.
    var memory: Int {
        let filtered = window.width * window.height * 4
        let turned = orientation == .up ? 0 : filtered
        let finished = seen.result.width * seen.result.height * 4
        // A canvas, a cropped part, or the image with a background.
        let after = seen.canvas != nil || seen.cut != nil || seen.background != nil ? finished : 0
        return filtered + max(turned, after)
    }
}
