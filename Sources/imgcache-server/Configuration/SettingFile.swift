import Digests
import FoundationEssentials
import Glibc
import ImageCache
import JSONParsing

/// The configuration file: one JSON object whose keys are the settings' names, and `origins`; comments are allowed. Parsed by JSONDecoder:
/// swift-configuration's own JSON provider requires all of Foundation, and does not report unknown keys.
struct SettingFile {
    /// Values by the settings' names.
    private(set) var values: [String: String] = [:]
    private(set) var origins: [NamedOrigin] = []
    private let path: String
    private let keys: SettingFileKeys

    init(at path: String) throws(SettingError) {
        self.path = path
        let json: CommentedJSON
        let text = try Self.text(at: path)
        do throws(CommentedJSON.SyntaxError) { json = try CommentedJSON(text) } catch {
            throw SettingError(setting: "config", value: path, problem: "\(error)")
        }
        let decoded: [String: Value]
        do { decoded = try JSONDecoder().decode([String: Value].self, from: Data(json.json)) } catch {
            throw Self.syntaxError(in: path, error)
        }
        keys = SettingFileKeys(json.json)
        if let key = keys.repeated {
            throw SettingError(
                setting: key.joined(separator: "."), value: nil, problem: "is specified more than once",
                source: place(key))
        }
        // In the object of a setting.
        if let repeated = json.repeatedName {
            throw SettingError(setting: "config", value: path, problem: "\(repeated)")
        }
        for (key, value) in decoded.sorted(by: { $0.key < $1.key }) where key != Self.originsKey {
            guard let setting = Setting.named(key) else {
                throw SettingError(
                    setting: key, value: nil, problem: "is not a setting" + Self.suggestion(for: key),
                    source: place([key]))
            }
            do throws(SettingError) { values[key] = try value.text(of: setting) } catch {
                var error = error
                error.source = place([key])
                throw error
            }
        }
        guard let value = decoded[Self.originsKey] else { return }
        guard let members = value.members else {
            throw SettingError(
                setting: Self.originsKey, value: nil, problem: "must be an object of origins by their names",
                source: place([Self.originsKey]))
        }
        origins = try Self.origins(in: members, place)
    }

    /// The file, and the line of a key.
    func place(_ key: SettingFileKeys.Path) -> String { keys.lines[key].map { "\(path):\($0)" } ?? path }

    private static func text(at path: String) throws(SettingError) -> [UInt8] {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw SettingError(setting: "config", value: path, problem: "is a folder, no file")
        }
        do throws(LimitedFile.Failure) {
            return try LimitedFile.bytes(of: path, limit: 16 << 20, isRegular: false)
        } catch {
            let problem = if case .system = error { "cannot be read: \(error)" } else { "\(error)" }
            throw SettingError(setting: "config", value: path, problem: problem)
        }
    }

    private static func syntaxError(in path: String, _ error: any Error) -> SettingError {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            guard let key = context.codingPath.first?.stringValue else {
                return SettingError(setting: "config", value: path, problem: "is not a JSON object")
            }
            return SettingError(
                setting: key, value: nil,
                problem: "must be a string, a number, true, false or a list of strings or numbers",
                source: path)
        default: return SettingError(setting: "config", value: path, problem: "is not a JSON object of settings")
        }
    }

    /// The setting with the most similar name.
    static func suggestion(for name: String) -> String {
        let plain = name.lowercased().replacing("_", with: "-")
        let known = Setting.all.flatMap { $0.settings.map(\.name) }
        let near = known.first { $0 == plain } ?? known.first { $0.hasPrefix(plain) || plain.hasPrefix($0) }
        return near.map { "; did you mean \"\($0)\"?" } ?? ""
    }
}
