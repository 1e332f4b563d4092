import ImageCache
import ImageProxy

/// The settings of the options in images' URLs.
struct ImageOptionSettings: Sendable {
    /// The allowed values; empty: any, or with widths the documented ones.
    var widths: [Int] = []
    var heights: [Int] = []
    var devicePixelRatios: [Double] = []
    var qualities: [Int] = []
    var blurs: [Int] = []
    /// Options by the names of presets.
    var presets: [String: String] = [:]
    var needsPreset = false
    /// The options of every URL that does not give them; nil: none.
    var defaults: String?
    /// By the names of marks.
    var watermarks: [String: WatermarkSetting] = [:]
    /// True if clients' hints choose what URLs leave open.
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

/// A member of the setting `watermarks`, with the image that its file has when it is read.
struct WatermarkSetting: Sendable {
    let path: String
    let mark: ImageWatermark

    /// - Throws: An error for a file that is no image of at most 16 megapixels.
    init(_ path: String) throws(ImageCodecError) {
        self.path = path
        var decoder = ImageDecoder()
        decoder.limits.pixels = 16 << 20
        mark = ImageWatermark(try decoder.decode(ImageSource(path: path)))
    }
}
