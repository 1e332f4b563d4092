import ImageCache
import ImageEffects

/// The values that URLs may ask for, in addition to presets and default options.
///
/// If ``widths`` is not empty, every option that multiplies the number or the size of images is restricted. An option without a list then
/// allows the documented values.
package struct ImageRestrictions: Sendable {
    /// In CSS pixels, like the heights. If empty, any width is allowed.
    package var widths: Set<Int> = []
    /// If empty, the same as the widths.
    package var heights: Set<Int> = []
    /// If empty, and widths are listed: 1, 1.5, 2 and 3.
    package var devicePixelRatios: Set<Double> = []
    /// If empty, and widths are listed: the multiples of 5.
    package var qualities: Set<Int> = []
    /// If empty, and widths are listed: none.
    package var blurs: Set<Int> = []

    package init() {}

    /// The longest side that follows from the proportions, in CSS pixels: four times the longest allowed one.
    private var longestFollowing: Int? { widths.union(heights).max().map { $0 * 4 } }

    private var isRestricted: Bool { !widths.isEmpty }

    /// Checks the options of a URL against these restrictions.
    ///
    /// - Throws: An error for `width` or for an option whose value is not allowed, with the allowed values.
    func checked(_ reading: ImagePresets.Reading) throws(ImageRequestError) -> ImageOptions {
        var (options, base) = (reading.options, reading.base)
        // The values of the preset are the operator's choice.
        if options.isWidthAuto {
            // The width is chosen from the list.
        } else if options.width != base.width || (options.width == nil && !reading.isPreset) {
            if isRestricted, options.width.map(widths.contains) != true { throw .width(options.width) }
        }
        if let height = options.height, height != base.height {
            try check("height", height, heights.isEmpty ? widths : heights)
        }
        if options.devicePixelRatio != base.devicePixelRatio {
            try check("dpr", options.devicePixelRatio, allowed(devicePixelRatios, [1, 1.5, 2, 3]))
        }
        if options.quality != base.quality {
            try check("quality", options.quality, allowed(qualities, Set(stride(from: 5, through: 100, by: 5))))
        }
        if isRestricted, options.maxBytes != base.maxBytes {
            throw .invalidOption(
                .option("max-bytes", "is allowed in presets alone where widths are restricted"))
        }
        let blur = options.effects.blur
        if blur != base.effects.blur, blur != 0, isRestricted || !blurs.isEmpty {
            guard blurs.contains(blur) else { throw Self.failure("blur", blurs) }
        }
        // Blurs have their own list, and the focal point is a place.
        var permitted = base.effects
        (permitted.blur, permitted.focalPoint) = (blur, options.effects.focalPoint)
        if isRestricted, options.effects != permitted {
            throw .invalidOption(
                .option(
                    "trim, rotate, watermark or another effect",
                    "is allowed in presets alone where widths are restricted"))
        }
        if isRestricted { try checkPlaces(options, base) }
        if isRestricted, options.fit == .outside, base.fit != .outside {
            throw .invalidOption(.option("fit", "must not be outside where widths are restricted"))
        }
        // `anim=0` also asks for the first frame alone, so frame 0 is always allowed.
        if isRestricted, options.frame != base.frame, options.frame != 0 {
            throw .invalidOption(.option("frame", "must be 0 where widths are restricted"))
        }
        // Presets are the operator's choice, so they may have longer sides.
        let isOperatorsBox = reading.isPreset && options.width == base.width && options.height == base.height
        if !isOperatorsBox, let longest = longestFollowing { options.longestFollowing = longest }
        return options
    }

    /// Checks positions and colours, which have millions of values. Without a list, only named values and the operator's are allowed.
    private func checkPlaces(_ options: ImageOptions, _ base: ImageOptions) throws(ImageRequestError) {
        if case .at = options.gravity, options.gravity != base.gravity {
            throw .invalidOption(.option("gravity", "must be a name where widths are restricted"))
        }
        if options.effects.focalPoint != base.effects.focalPoint || options.background != base.background {
            throw .invalidOption(
                .option("fp or background", "is allowed in presets alone where widths are restricted"))
        }
    }

    /// The list, or its default values if widths are listed.
    private func allowed<Value: Hashable>(_ list: Set<Value>, _ others: Set<Value>) -> Set<Value> {
        list.isEmpty && isRestricted ? others : list
    }

    /// - Parameter allowed: The allowed values; if empty, any.
    private func check<Value: Hashable & Comparable>(
        _ name: String, _ value: Value, _ allowed: Set<Value>
    ) throws(ImageRequestError) {
        guard allowed.isEmpty || allowed.contains(value) else { throw Self.failure(name, allowed) }
    }

    private static func failure<Value: Comparable>(_ name: String, _ allowed: Set<Value>) -> ImageRequestError {
        guard !allowed.isEmpty else { return .invalidOption(.option(name, "is not allowed")) }
        let list = allowed.sorted().map { "\($0)" }.joined(separator: ", ")
        return .invalidOption(.option(name, "must be one of \(list)"))
    }
}
