import ImageCache
import ImageProxy

/// The settings of the options in images' URLs.
struct ImageOptionSettings: Sendable {
    /// The allowed values. If empty, any value is allowed, or the documented ones if widths are listed.
    var widths: [Int] = []
    var heights: [Int] = []
    var devicePixelRatios: [Double] = []
    var qualities: [Int] = []
    var blurs: [Int] = []
    /// The options of presets, by name.
    var presets: [String: String] = [:]
    var needsPreset = false
    /// The default options of URLs, or nil for none.
    var defaults: String?
    /// The watermarks by name.
    var watermarks: [String: WatermarkSetting] = [:]
    /// True if client hints choose what URLs leave open.
    var usesClientHints = false

    var restrictions: ImageRestrictions {
        var restrictions = ImageRestrictions()
        restrictions.widths = Set(widths)
        restrictions.heights = Set(heights)
        restrictions.devicePixelRatios = Set(devicePixelRatios)
        restrictions.qualities = Set(qualities)
        restrictions.blurs = Set(blurs)
        return restrictions
    }

    func imagePresets() throws(SettingError) -> ImagePresets {
        let named = presets.sorted { $0.key < $1.key }.map { (name: $0.key, options: $0.value) }
        do throws(ImagePresets.Failure) {
            var all = try ImagePresets(named, defaults: defaults, takesHints: usesClientHints)
            all.areRequired = needsPreset
            return all
        } catch {
            throw SettingError(
                setting: error.name == nil ? "default-options" : "presets", value: error.name ?? defaults,
                problem: "cannot be used: \(error.problem)")
        }
    }
}

/// A member of the setting `watermarks`, with the image in its file at the time of reading.
struct WatermarkSetting: Sendable {
    let path: String
    let mark: ImageWatermark

    /// - Throws: An error if the file is not an image of at most 16 megapixels.
    init(_ path: String) throws(ImageCodecError) {
        self.path = path
        mark = ImageWatermark(try ImageWatermark.decoder.decode(ImageSource(path: path)))
    }
}
