/// The configured presets, and the default options of URLs.
///
/// The options of a URL may begin with a preset's name: `card` or `card,dpr=2`. The following options replace the preset's.
package struct ImagePresets: Sendable {
    /// Invalid options in a setting.
    package struct Failure: Error, Equatable {
        /// The preset's name, or nil for the default options.
        package let name: String?
        package let problem: String
    }

    /// True if the options of a URL must be the name of a preset.
    package var areRequired = false
    private var defaults = ImageOptions()
    private var presets: [String: Preset] = [:]

    private struct Preset {
        var options: ImageOptions
        var given: Set<String>
    }

    /// Creates no presets, and the documented defaults.
    package init() {}

    /// - Parameters:
    ///   - named: Names and options. `defaults` apply to the options that a preset does not set.
    ///   - defaults: Options such as `q=70,format=auto`, or nil for none.
    ///   - takesHints: True if client hints may choose what a URL leaves open.
    package init(
        _ named: [(name: String, options: String)], defaults: String? = nil, takesHints: Bool = false
    ) throws(Failure) {
        self.defaults.takesHints = takesHints
        if let text = defaults {
            do throws(ImageOptionError) { try self.defaults.read(text) } catch {
                throw Failure(name: nil, problem: error.message)
            }
        }
        for (name, text) in named {
            guard name != ImageRules.descriptionName else {
                throw Failure(name: name, problem: "The name stands for the description of an image.")
            }
            guard Self.isName(name) else {
                throw Failure(name: name, problem: "A name has 1 to 64 letters, digits, hyphens and underscores.")
            }
            guard presets[name] == nil else { throw Failure(name: name, problem: "It is specified more than once.") }
            do throws(ImageOptionError) { presets[name] = try Self.preset(text, over: self.defaults) } catch {
                throw Failure(name: name, problem: error.message)
            }
        }
    }

    private static func preset(_ text: some StringProtocol, over base: ImageOptions) throws(ImageOptionError) -> Preset
    {
        var preset = Preset(options: base, given: [])
        preset.given = try preset.options.read(text)
        try preset.options.checkTogether()
        return preset
    }

    /// The options of a URL, and the options that they are based on.
    struct Reading {
        var options: ImageOptions
        /// The options of the preset, or the default ones: the operator's choice.
        var base: ImageOptions
        /// The name of the preset; nil for options without one.
        var preset: String?
        var isPreset: Bool { preset != nil }
        /// The long names of the options that the URL or its preset sets.
        var given: Set<String>
    }

    func options(_ text: Substring) throws(ImageOptionError) -> Reading {
        let first = text.prefix { $0 != "," }
        guard !first.isEmpty, !first.contains("="), !presets.isEmpty else {
            if areRequired { throw Self.required }
            let read = try Self.preset(text, over: defaults)
            return Reading(options: read.options, base: defaults, preset: nil, given: read.given)
        }
        let name = String(first)
        guard let preset = presets[name] else {
            throw ImageOptionError(
                code: "bad-option", message: "There is no preset \"\(first.prefix(32))\", and an option is name=value.")
        }
        let rest = text[first.endIndex...]
        if rest.isEmpty {
            return Reading(options: preset.options, base: preset.options, preset: name, given: preset.given)
        }
        if areRequired { throw Self.required }
        let read = try Self.preset(rest.dropFirst(), over: preset.options)
        return Reading(
            options: read.options, base: preset.options, preset: name, given: read.given.union(preset.given))
    }

    private static let required = ImageOptionError(
        code: "preset-required", message: "The options of an image's URL must be the name of a preset.")

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
