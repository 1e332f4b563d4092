import ImageProxy

/// An origin of the configuration file: its name, location, patterns, and its own settings.
struct NamedOrigin: Sendable {
    /// The value of a setting that the origin overrides.
    struct Value: Sendable {
        var setting: Setting
        var text: String
        /// The file and line of the value.
        var source: String
    }

    let name: String
    let url: String
    /// The patterns, as written in the file and parsed.
    let patterns: [(text: String, pattern: OriginPattern)]
    /// The file and line of the name.
    let source: String
    /// In the order in which the help lists the settings.
    let values: [Value]

    /// The name of the origin that the setting `origin` defines.
    static let defaultName = "default"

    /// The name of a key of the origin in messages.
    static func key(_ name: String, _ key: String) -> String { "\(SettingFile.originsKey).\(name).\(key)" }

    /// The service's settings, overridden by the origin's own.
    func configuration(over general: ServerConfiguration) -> ServerConfiguration {
        var configuration = general
        configuration.origins = []
        configuration.origin = url
        // Each value has already been validated.
        for value in values { _ = value.setting.read(value.text, &configuration) }
        return configuration
    }

    /// An error of the origin's configuration, with the setting's location in the file if the origin overrides the setting.
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
    /// `nil` for the origin of the setting `origin`.
    var named: NamedOrigin?
}

extension ServerConfiguration {
    /// The origins of the file by name, then the one of the setting `origin`, which gets all other requests.
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
