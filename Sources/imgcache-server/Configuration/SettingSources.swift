import Configuration
import ImageProxy

/// The sources of settings: the command line overrides the environment, which overrides the file. Each is a provider of
/// swift-configuration.
struct SettingSources {
    private struct Source {
        var provider: any ConfigProvider
        /// Describes the location of a setting in this source.
        var place: @Sendable (Setting) -> String
        /// The name of a setting in this source.
        var name: @Sendable (Setting) -> String
    }

    private let sources: [Source]
    private let origins: [NamedOrigin]

    /// - Parameters:
    ///   - options: The command line's values, by setting.
    ///   - file: The configuration file's path; nil: none.
    init(
        options: [String: String], environment: [String: String], file: String?
    ) throws(SettingError) {
        var sources = [
            Source(
                provider: Self.provider("command line", options), place: { _ in "command line" },
                name: { "--\($0.name)" }),
            Source(
                provider: EnvironmentVariablesProvider(environmentVariables: environment),
                place: { _ in "environment" }, name: { $0.variable }),
        ]
        var origins: [NamedOrigin] = []
        if let file {
            let contents = try SettingFile(at: file)
            origins = contents.origins
            sources.append(
                Source(
                    provider: Self.provider(file, contents.values), place: { contents.place([$0.name]) },
                    name: { $0.name }))
        }
        self.sources = sources
        self.origins = origins
    }

    /// The resulting configuration.
    /// - Throws: The first error, with its source, name and value.
    func configuration() throws(SettingError) -> ServerConfiguration {
        var configuration = ServerConfiguration()
        for (_, settings) in Setting.all {
            for setting in settings { try take(setting, into: &configuration) }
        }
        configuration.origins = origins
        guard !configuration.origin.isEmpty || !origins.isEmpty else {
            throw SettingError(
                setting: "origin", value: nil,
                problem: "is missing: --origin URL, IMGCACHE_ORIGIN, \"origin\" or \"origins\" in the file")
        }
        try checkDefault(configuration)
        if let path = configuration.readyPath, path == configuration.healthPath {
            throw SettingError(setting: "ready-path", value: path, problem: "is that of health-path, too")
        }
        return configuration
    }

    /// Checks the setting `origin`, which gets all requests that match no pattern.
    private func checkDefault(_ configuration: ServerConfiguration) throws(SettingError) {
        guard !configuration.origin.isEmpty else { return }
        for origin in origins {
            guard let (text, _) = origin.patterns.first(where: { $0.pattern == .everything }) else { continue }
            throw SettingError(
                setting: NamedOrigin.key(origin.name, "match"), value: text,
                problem: "is that of the setting origin, too", source: origin.source)
        }
    }

    private func take(_ setting: Setting, into configuration: inout ServerConfiguration) throws(SettingError) {
        for source in sources {
            let key = AbsoluteConfigKey(["imgcache", setting.name])
            guard let found = try? source.provider.value(forKey: key, type: .string).value,
                case .string(let text) = found.content
            else { continue }
            guard let problem = setting.read(text, &configuration) else { return }
            throw SettingError(
                setting: source.name(setting), value: setting.shown(text), problem: problem,
                source: source.place(setting))
        }
    }

    private static func provider(_ name: String, _ values: [String: String]) -> InMemoryProvider {
        var contents: [AbsoluteConfigKey: ConfigValue] = [:]
        for (key, value) in values {
            let isSecret = Setting.named(key)?.isSecret ?? false
            contents[AbsoluteConfigKey(["imgcache", key])] = ConfigValue(.string(value), isSecret: isSecret)
        }
        return InMemoryProvider(name: name, values: contents)
    }
}
