import Logging
import Units

/// A setting: its name on the command line (`--max-requests`), in the environment (`IMGCACHE_MAX_REQUESTS`) and in the
/// configuration file (`"max-requests"`), the form of its value, and its property.
struct Setting: Sendable {
    typealias Place<Value> = any WritableKeyPath<ServerConfiguration, Value> & Sendable

    /// The form of the value in a configuration file.
    enum Shape: Sendable {
        case text, number, flag, list
        /// A table of values by name: `name: value; name: value`, or an object.
        case table
    }

    let name: String
    /// The placeholder of the value in the help; empty for a flag.
    let placeholder: String
    let help: String
    var shape = Shape.text
    /// True if the value must not be displayed.
    var isSecret = false
    /// True if SIGHUP applies a new value. Other settings need a restart.
    var isReloadable = false
    /// True if an origin of the configuration file may override the value.
    var isPerOrigin = false
    /// Parses and applies a value; returns the problem with it, if any.
    let read: @Sendable (String, inout ServerConfiguration) -> String?
    /// The value as text, or nil if there is none.
    let text: @Sendable (ServerConfiguration) -> String?
    /// Copies the value from another configuration.
    let copy: @Sendable (_ source: ServerConfiguration, _ target: inout ServerConfiguration) -> Void

    /// The name of the environment variable.
    var variable: String {
        "IMGCACHE_" + name.uppercased().replacing("-", with: "_")
    }

    var reloadable: Setting {
        var setting = self
        setting.isReloadable = true
        return setting
    }

    var perOrigin: Setting {
        var setting = self
        setting.isPerOrigin = true
        return setting
    }

    var secret: Setting {
        var setting = self
        setting.isSecret = true
        return setting
    }
}

// MARK: Kinds of settings

extension Setting {
    /// A parsed value, or the problem with its text.
    enum Reading<Value> {
        case value(Value)
        case problem(String)
    }

    /// A setting for one property of the configuration.
    static func property<Value>(
        _ name: String, _ placeholder: String, _ place: Place<Value>, _ help: String, shape: Shape = .text,
        read: @escaping @Sendable (String) -> Reading<Value>, text: @escaping @Sendable (Value) -> String?
    ) -> Setting {
        Setting(
            name: name, placeholder: placeholder, help: help, shape: shape,
            read: { text, configuration in
                switch read(text) {
                case .problem(let problem): return problem
                case .value(let value):
                    configuration[keyPath: place] = value
                    return nil
                }
            }, text: { text($0[keyPath: place]) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    static func count(
        _ name: String, _ place: Place<Int>, _ range: ClosedRange<Int>, _ help: String
    ) -> Setting {
        property(name, "N", place, help, shape: .number, read: { read($0, range) { $0 } }, text: { String($0) })
    }

    static func count(
        _ name: String, _ place: Place<Int?>, _ range: ClosedRange<Int>, _ help: String
    ) -> Setting {
        property(
            name, "N", place, help, shape: .number, read: { read($0, range) { $0 } }, text: { $0.map { String($0) } })
    }

    private static func read<Value>(
        _ text: String, _ range: ClosedRange<Int>, _ value: (Int) -> Value
    ) -> Reading<Value> {
        guard let number = Int(text), range.contains(number) else {
            return .problem("must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return .value(value(number))
    }

    static func bytes(
        _ name: String, _ place: Place<Int64>, atLeast least: Int64, _ help: String
    ) -> Setting {
        property(
            name, "BYTES", place, help, read: { read(bytes: $0, atLeast: least, example: "512MiB") { $0 } },
            text: { ByteSize($0).exactText })
    }

    static func bytes(
        _ name: String, _ place: Place<Int64?>, atLeast least: Int64, _ help: String
    ) -> Setting {
        property(
            name, "BYTES", place, help, read: { read(bytes: $0, atLeast: least, example: "2GiB") { $0 } },
            text: { $0.map { ByteSize($0).exactText } })
    }

    private static func read<Value>(
        bytes text: String, atLeast least: Int64, example: String, _ value: (Int64) -> Value
    ) -> Reading<Value> {
        guard let bytes = SettingText.bytes(text) else {
            return .problem("must be a number of bytes, such as \(example)")
        }
        guard bytes >= least else { return .problem("must be at least \(ByteSize(least).exactText)") }
        return .value(value(bytes))
    }

    /// - Parameter mayBeZero: True if 0 is valid, and disables a feature.
    static func time(
        _ name: String, _ place: Place<Duration>, mayBeZero: Bool = false, _ help: String
    ) -> Setting {
        property(
            name, "TIME", place, help,
            read: { text in
                guard let duration = SettingText.duration(text), duration > .zero || mayBeZero else {
                    return .problem("must be a duration, such as 30s or 5m")
                }
                return .value(duration)
            }, text: { SettingText.text(of: $0) })
    }

    static func flag(_ name: String, _ place: Place<Bool>, _ help: String) -> Setting {
        property(
            name, "", place, help, shape: .flag,
            read: { SettingText.flag($0).map { .value($0) } ?? .problem("must be true or false") },
            text: { String($0) })
    }

    /// One of at least two words.
    static func choice<Value: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ name: String, _ place: Place<Value>, _ help: String
    ) -> Setting {
        let words = Value.allCases.map(\.rawValue)
        let problem = "must be \(words.dropLast().joined(separator: ", ")) or \(words[words.count - 1])"
        return property(
            name, words.joined(separator: "|"), place, help,
            read: { Value(rawValue: $0).map { .value($0) } ?? .problem(problem) }, text: { $0.rawValue })
    }

    /// - Parameter problem: Returns the problem with a value, or nil if there is none.
    static func text(
        _ name: String, _ placeholder: String, _ place: Place<String>, _ help: String,
        problem: @escaping @Sendable (String) -> String? = { $0.isEmpty ? "is empty" : nil }
    ) -> Setting {
        property(
            name, placeholder, place, help, read: { text in problem(text).map { .problem($0) } ?? .value(text) },
            text: { $0 })
    }

    static func text(
        _ name: String, _ placeholder: String, _ place: Place<String?>, _ help: String,
        problem: @escaping @Sendable (String) -> String? = { $0.isEmpty ? "is empty" : nil }
    ) -> Setting {
        property(
            name, placeholder, place, help, read: { text in problem(text).map { .problem($0) } ?? .value(text) },
            text: { $0 })
    }

    /// - Parameter problem: Returns the problem with a member of the list, or nil if there is none.
    static func list(
        _ name: String, _ placeholder: String, _ place: Place<[String]>, _ help: String,
        problem: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Setting {
        property(
            name, placeholder, place, help, shape: .list,
            read: { text in
                let members = SettingText.list(text)
                for member in members {
                    if let problem = problem(member) { return .problem("\"\(member)\" \(problem)") }
                }
                return .value(members)
            }, text: { $0.joined(separator: ",") })
    }
}
