import ImageProxy

/// An origin of the configuration file: its name, its place, the requests that it is for, and settings of its own.
struct NamedOrigin: Sendable {
    /// A value of a setting that is the origin's own.
    struct Value: Sendable {
        var setting: Setting
        var text: String
        /// The file, and the line in it.
        var source: String
    }

    let name: String
    let url: String
    /// As they stand in the file, and parsed.
    let patterns: [(text: String, pattern: OriginPattern)]
    /// The place of the name in the file.
    let source: String
    /// In the order of the help.
    let values: [Value]

    /// The name of the origin that the setting `origin` describes.
    static let defaultName = "default"

    /// The name of a key of the origin in messages.
    static func key(_ name: String, _ key: String) -> String { "\(SettingFile.originsKey).\(name).\(key)" }

    /// The settings of the origin: those of the service, and its own in place of them.
    func configuration(over general: ServerConfiguration) -> ServerConfiguration {
        var configuration = general
        configuration.origins = []
        configuration.origin = url
        // Each was read without a problem before.
        for value in values { _ = value.setting.read(value.text, &configuration) }
        return configuration
    }

    /// An error of the origin's configuration, with the place of the setting if the origin has a value of its own.
    func error(_ error: SettingError) -> SettingError {
        var error = error
        error.source = values.first { $0.setting.name == error.setting }?.source ?? source
        error.setting = Self.key(name, error.setting == "origin" ? "url" : error.setting)
        return error
    }
}

/// An origin with all of its settings.
struct ConfiguredOrigin {
    var name: String
    var patterns: [OriginPattern]
    var configuration: ServerConfiguration
    /// nil: the setting `origin`.
    var named: NamedOrigin?
}

extension ServerConfiguration {
    /// The origins of the file by name, and last the one of the setting `origin`, which is for all other requests.
    var allOrigins: [ConfiguredOrigin] {
        var all = origins.map { named in
            ConfiguredOrigin(
                name: named.name, patterns: named.patterns.map(\.pattern),
                configuration: named.configuration(over: self),
                named: named)
        }
        if !origin.isEmpty {
            all.append(ConfiguredOrigin(name: NamedOrigin.defaultName, patterns: [.everything], configuration: self))
        }
        return all
    }
}
