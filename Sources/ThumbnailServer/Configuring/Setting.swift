import Logging

/// One setting: its name on the command line (`--max-requests`), in the environment (`IMGCACHE_MAX_REQUESTS`) and in the
/// configuration file (`"max-requests"`), what it takes, and where it goes.
struct Setting: Sendable {
    typealias Place<Value> = any WritableKeyPath<ServerConfiguration, Value> & Sendable

    /// How the value is written in a configuration file.
    enum Shape: Sendable {
        case text, number, flag, list
    }

    let name: String
    /// What stands for the value in the help; empty for a flag.
    let placeholder: String
    let help: String
    var shape = Shape.text
    /// Whether the value must not be shown.
    var isSecret = false
    /// Whether SIGHUP takes over a new value; the others need a restart.
    var isReloadable = false
    /// Takes the value over; gives what is wrong with it.
    let read: @Sendable (String, inout ServerConfiguration) -> String?
    /// The value as text, nil when there is none.
    let text: @Sendable (ServerConfiguration) -> String?
    /// Takes the value of another configuration over.
    let copy: @Sendable (_ source: ServerConfiguration, _ target: inout ServerConfiguration) -> Void

    /// The environment's name for it.
    var variable: String {
        "IMGCACHE_" + name.uppercased().replacing("-", with: "_")
    }

    var reloadable: Setting {
        var setting = self
        setting.isReloadable = true
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
    static func count(
        _ name: String, _ place: Place<Int>, _ range: ClosedRange<Int>, _ help: String
    ) -> Setting {
        Setting(
            name: name, placeholder: "N", help: help, shape: .number,
            read: { text, configuration in
                guard let number = Int(text), range.contains(number) else {
                    return "is no whole number from \(range.lowerBound) to \(range.upperBound)"
                }
                configuration[keyPath: place] = number
                return nil
            }, text: { String($0[keyPath: place]) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    static func bytes(
        _ name: String, _ place: Place<Int64>, atLeast least: Int64, _ help: String
    ) -> Setting {
        Setting(
            name: name, placeholder: "BYTES", help: help,
            read: { text, configuration in
                guard let bytes = SettingText.bytes(text) else { return "is no number of bytes, such as 512MiB" }
                guard bytes >= least else { return "is less than \(SettingText.text(ofBytes: least))" }
                configuration[keyPath: place] = bytes
                return nil
            }, text: { SettingText.text(ofBytes: $0[keyPath: place]) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    static func bytes(
        _ name: String, _ place: Place<Int64?>, atLeast least: Int64, _ help: String
    ) -> Setting {
        Setting(
            name: name, placeholder: "BYTES", help: help,
            read: { text, configuration in
                guard let bytes = SettingText.bytes(text) else { return "is no number of bytes, such as 2GiB" }
                guard bytes >= least else { return "is less than \(SettingText.text(ofBytes: least))" }
                configuration[keyPath: place] = bytes
                return nil
            }, text: { $0[keyPath: place].map(SettingText.text(ofBytes:)) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    static func time(_ name: String, _ place: Place<Duration>, _ help: String) -> Setting {
        Setting(
            name: name, placeholder: "TIME", help: help,
            read: { text, configuration in
                guard let duration = SettingText.duration(text), duration > .zero else {
                    return "is no length of time, such as 30s or 5m"
                }
                configuration[keyPath: place] = duration
                return nil
            }, text: { SettingText.text(of: $0[keyPath: place]) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    static func flag(_ name: String, _ place: Place<Bool>, _ help: String) -> Setting {
        Setting(
            name: name, placeholder: "", help: help, shape: .flag,
            read: { text, configuration in
                guard let value = SettingText.flag(text) else { return "is neither true nor false" }
                configuration[keyPath: place] = value
                return nil
            }, text: { String($0[keyPath: place]) },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    /// - Parameter problem: what is wrong with a value, nil when nothing is.
    static func text(
        _ name: String, _ placeholder: String, _ place: Place<String>, _ help: String,
        problem: @escaping @Sendable (String) -> String? = { $0.isEmpty ? "is empty" : nil }
    ) -> Setting {
        Setting(
            name: name, placeholder: placeholder, help: help,
            read: { text, configuration in
                if let problem = problem(text) { return problem }
                configuration[keyPath: place] = text
                return nil
            }, text: { $0[keyPath: place] },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    static func text(
        _ name: String, _ placeholder: String, _ place: Place<String?>, _ help: String,
        problem: @escaping @Sendable (String) -> String? = { $0.isEmpty ? "is empty" : nil }
    ) -> Setting {
        Setting(
            name: name, placeholder: placeholder, help: help,
            read: { text, configuration in
                if let problem = problem(text) { return problem }
                configuration[keyPath: place] = text
                return nil
            }, text: { $0[keyPath: place] },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }

    /// - Parameter problem: what is wrong with a member of the list, nil when nothing is.
    static func list(
        _ name: String, _ placeholder: String, _ place: Place<[String]>, _ help: String,
        problem: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Setting {
        Setting(
            name: name, placeholder: placeholder, help: help, shape: .list,
            read: { text, configuration in
                let members = SettingText.list(text)
                for member in members {
                    if let problem = problem(member) { return "\"\(member)\" \(problem)" }
                }
                configuration[keyPath: place] = members
                return nil
            }, text: { $0[keyPath: place].joined(separator: ",") },
            copy: { $1[keyPath: place] = $0[keyPath: place] })
    }
}
