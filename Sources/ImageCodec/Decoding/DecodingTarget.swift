internal import CImageCodec

/// How far a decoder itself reduces an image, before the filter brings it to its size. Images of one file for which this is equal
/// come from the same decoded rows.
package enum DecodingScale: Hashable, Sendable {
    /// A JPEG at so many eighths of its size.
    case eighths(Int)
    /// All pixels.
    case whole
    /// A WebP whose decoder averages it to this size.
    case size(width: Int, height: Int)
}

/// One image to be made of a file, as far as the file's header decides it.
package struct DecodingTarget: Sendable {
    package let scale: DecodingScale
    /// Of the result, in pixels.
    package let width: Int
    package let height: Int
    let sizing: ImageSizing?
    let plan: StoredPlan
    /// Bytes that the filter takes, beside the rows that all share.
    let filterMemory: Int

    /// Bytes of memory that the image takes until it is finished, without the decoder's.
    package var memory: Int { plan.memory + filterMemory }
}

extension ImageDecoder {
    /// What a file's header says, for ``target(_:of:)``.
    package func header(of source: ImageSource) throws(ImageCodecError) -> ImageHeader {
        let budget = ImageBudget(limits: limits)
        if let decoder = try registeredDecoder(of: source) {
            return try budget.accounting { () throws(ImageCodecError) in try self.header(of: source, by: decoder) }
        }
        let format = try source.format()
        try limits.check(source, format: format)
        return try budget.measured { (watch) throws(ImageCodecError) in
            try ImageHeader(source, format, limits.lowered(allowTruncated: true, watch))
        }
    }

    /// What an image of a size needs of a file with this header.
    ///
    /// - Throws: `invalidArgument` for a box without sides, `limitExceeded` when the result, what comes between or the memory for
    ///   them would be too large.
    package func target(_ sizing: ImageSizing?, of header: ImageHeader) throws(ImageCodecError) -> DecodingTarget {
        let plan = try plan(sizing, header)
        let scale = Self.scale(of: header, for: plan.scaled)
        let resizing = Resizing(header, scale, plan, hasAlpha: true, linear: usesLinearLight)
        let target = DecodingTarget(
            scale: scale, width: plan.seen.result.width, height: plan.seen.result.height, sizing: sizing, plan: plan,
            filterMemory: resizing.isIdentity ? 0 : resizing.memory)
        try limits.check(memory: target.memory + header.memory(at: scale), format: header.format)
        return target
    }

    /// How far the decoder of this file's format goes for a size.
    private static func scale(of header: ImageHeader, for scaled: ResizePlan.Size) -> DecodingScale {
        switch header.format {
        case .jpeg: .eighths(eighths(of: header.size, for: scaled))
        case .webp: webPScale(of: header, for: scaled)
        default: .whole
        }
    }
}

extension ImageHeader {
    /// The size of the rows that a decoder gives at a scale.
    func size(at scale: DecodingScale) -> ResizePlan.Size {
        switch scale {
        case .eighths(let eighths):
            ResizePlan.Size(width: (width * eighths + 7) / 8, height: (height * eighths + 7) / 8)
        case .size(let width, let height): ResizePlan.Size(width: width, height: height)
        case .whole: size
        }
    }

    /// Bytes that a decoder takes beside the images that are made: what it holds of the file and of the pixels.
    package func memory(at scale: DecodingScale) -> Int {
        let streams = 256 << 10
        // Lines under way: the decoder's, and up to sixteen that the filters are given.
        let lines = width * 160
        let whole = width * height * 4
        if let registered { return whole + lines + registered.memory }
        switch format {
        case .jpeg:
            let all = scale == .eighths(1) ? description.coarse_coefficients : description.coefficients
            return streams + lines + Int(clamping: all)
        case .webp:
            let size = size(at: scale)
            // The file, the pixels that are decoded, and of a lossless image those of the stored size.
            return streams + lines + fileSize + size.width * size.height * 4
                + (description.is_lossless ? whole + whole / 4 : 0)
        default: return streams + lines + (description.interlaced ? whole : 0)
        }
    }

    /// Whether pixels may come out that are not opaque.
    package var mayHaveAlpha: Bool { format != .jpeg && description.has_alpha }

    /// A measure of the work of decoding: the pixels that are gone through.
    package var pixelCount: Int { width * height }
}

extension StoredPlan {
    /// Bytes of the pixels that are made, from the filter's result to the last step.
    var memory: Int {
        let filtered = window.width * window.height * 4
        let turned = orientation == .up ? 0 : filtered
        let finished = seen.result.width * seen.result.height * 4
        // A canvas, and the canvas upon its colour; or a part that is cut out.
        let after = seen.canvas != nil ? finished * 2 : seen.cut != nil ? finished : 0
        return filtered + max(turned, after)
    }
}
