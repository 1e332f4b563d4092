import Configuration
import FoundationEssentials
import Glibc

/// The sources of settings: the command line overrides the environment, which overrides the file. Each is a provider of
/// swift-configuration.
struct SettingSources {
    private struct Source {
        var provider: any ConfigProvider
        /// The description of a setting's place in it.
        var place: @Sendable (Setting) -> String
        /// The name of a setting in that place.
        var name: @Sendable (Setting) -> String
    }

    private let sources: [Source]

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
        if let file {
            let values = try SettingFile.values(at: file)
            sources.append(Source(provider: Self.provider(file, values), place: { _ in file }, name: { $0.name }))
        }
        self.sources = sources
    }

    /// The resulting configuration.
    /// - Throws: The first error, with its source, name and value.
    func configuration() throws(SettingError) -> ServerConfiguration {
        var configuration = ServerConfiguration()
        for (_, settings) in Setting.all {
            for setting in settings { try take(setting, into: &configuration) }
        }
        guard !configuration.origin.isEmpty else {
            throw SettingError(
                setting: "origin", value: nil,
                problem: "is missing: --origin URL, IMGCACHE_ORIGIN or \"origin\" in the file")
        }
        return configuration
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

/// The configuration file: one JSON object whose keys are the settings' names. Parsed by JSONDecoder:
/// swift-configuration's own JSON provider requires all of Foundation, and does not report unknown keys.
enum SettingFile {
    private enum Value: Decodable {
        case text(String), list([String]), table([String: String])

        var text: String? { if case .text(let text) = self { text } else { nil } }

        /// The members as a setting's text; nil if there are others than texts.
        var tableText: String? {
            guard case .table(let members) = self else { return nil }
            // An empty table is a value, too.
            return SettingText.text(of: members) ?? ""
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .text(String(flag))
            } else if let number = try? container.decode(Int64.self) {
                self = .text(String(number))
            } else if let number = try? container.decode(Double.self) {
                self = .text(String(number))
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let members = try? container.decode([String: String].self) {
                self = .table(members)
            } else {
                let members = try container.decode([Value].self).map(\.text)
                guard !members.contains(nil) else {
                    throw DecodingError.typeMismatch(
                        String.self, .init(codingPath: container.codingPath, debugDescription: "a list in a list"))
                }
                self = .list(members.compactMap(\.self))
            }
        }
    }

    static func values(at path: String) throws(SettingError) -> [String: String] {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw SettingError(setting: "config", value: path, problem: "is a folder, no file")
        }
        let data: Data
        do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw SettingError(setting: "config", value: path, problem: "cannot be read: \(reason(error))")
        }
        let decoded: [String: Value]
        do { decoded = try JSONDecoder().decode([String: Value].self, from: data) } catch {
            throw mistake(in: path, error)
        }
        if let key = SettingFileKeys.repeated(in: data) {
            throw SettingError(setting: key, value: nil, problem: "is specified more than once", source: path)
        }
        var values: [String: String] = [:]
        for (key, value) in decoded.sorted(by: { $0.key < $1.key }) {
            guard let setting = Setting.named(key) else {
                throw SettingError(
                    setting: key, value: nil, problem: "is not a setting" + suggestion(for: key), source: path)
            }
            switch value {
            case .text(let text): values[key] = text
            case .list(let members):
                guard setting.shape == .list else {
                    throw SettingError(
                        setting: key, value: members.joined(separator: ","),
                        problem: "must be a single value, not a list",
                        source: path)
                }
                values[key] = members.joined(separator: ",")
            case .table:
                guard setting.shape == .table, let text = value.tableText else {
                    throw SettingError(
                        setting: key, value: nil, problem: "must be a single value or a list, not an object",
                        source: path)
                }
                values[key] = text
            }
        }
        return values
    }

    private static func mistake(in path: String, _ error: any Error) -> SettingError {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            guard let key = context.codingPath.first?.stringValue else {
                return SettingError(setting: "config", value: path, problem: "is not a JSON object")
            }
            return SettingError(
                setting: key, value: nil,
                problem: "must be a string, a number, true, false or a list of strings or numbers",
                source: path)
        case .dataCorrupted(let context):
            let detail = context.underlyingError.map { ": \(reason($0))" } ?? ""
            return SettingError(setting: "config", value: path, problem: "is not valid JSON\(detail)")
        default: return SettingError(setting: "config", value: path, problem: "is not valid JSON")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile: return "no such file"
        case .fileReadNoPermission: return "permission denied"
        default: break
        }
        let description = (error as? CocoaError)?.userInfo["NSDebugDescription"] as? String
        return description ?? "\(error)"
    }

    /// The setting with the most similar name.
    static func suggestion(for name: String) -> String {
        let plain = name.lowercased().replacing("_", with: "-")
        let known = Setting.all.flatMap { $0.settings.map(\.name) }
        let near = known.first { $0 == plain } ?? known.first { $0.hasPrefix(plain) || plain.hasPrefix($0) }
        return near.map { "; did you mean \"\($0)\"?" } ?? ""
    }
}
