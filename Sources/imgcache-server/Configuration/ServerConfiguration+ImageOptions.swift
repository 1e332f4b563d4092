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
    /// Files by the names of marks.
    var watermarks: [String: String] = [:]
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

    func loadedWatermarks() throws(SettingError) -> [String: ImageWatermark] {
        var marks: [String: ImageWatermark] = [:]
        for (name, path) in watermarks {
            do throws(ImageCodecError) { marks[name] = try Self.watermark(path) } catch {
                throw SettingError(setting: "watermarks", value: name, problem: "cannot be used: \(error)")
            }
        }
        return marks
    }

    /// The mark in a file, of at most 16 megapixels.
    static func watermark(_ path: String) throws(ImageCodecError) -> ImageWatermark {
        var decoder = ImageDecoder()
        decoder.limits.pixels = 16 << 20
        return ImageWatermark(try decoder.decode(ImageSource(path: path)))
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
