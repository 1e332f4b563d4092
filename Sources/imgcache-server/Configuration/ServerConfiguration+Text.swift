import HTTPServer
import ImageCache

extension ServerConfiguration {
    /// The settings as a configuration file without secrets. Reading the file gives the same settings, except for the secrets.
    var printed: String {
        var members: [String] = []
        for (_, settings) in Setting.all {
            for setting in settings where !setting.isSecret {
                guard let text = setting.text(self), !(setting.name == "origin" && text.isEmpty) else { continue }
                members.append("\(Self.quoted(setting.name)): \(Self.printed(setting, text))")
            }
        }
        if !origins.isEmpty {
            members.append(
                Self.quoted(SettingFile.originsKey) + ": " + Self.object(origins.map(\.printed), indent: "  "))
        }
        return Self.object(members, indent: "")
    }

    fileprivate static func object(_ members: [String], indent: String) -> String {
        "{\n" + members.map { "\(indent)  \($0)" }.joined(separator: ",\n") + "\n\(indent)}"
    }

    fileprivate static func printed(_ setting: Setting, _ text: String) -> String {
        switch setting.shape {
        case .number, .flag: text
        case .list: list(SettingText.list(text))
        case .table:
            "{"
                + SettingText.table(text).map { "\(quoted($0.name)): \(quoted($0.value ?? ""))" }.joined(
                    separator: ", ") + "}"
        case .text: quoted(setting.name == "origin" ? FileRequest(text).urlWithoutUserinfo : text)
        }
    }

    fileprivate static func list(_ texts: [String]) -> String { "[" + texts.map(quoted).joined(separator: ", ") + "]" }

    fileprivate static func quoted(_ text: String) -> String {
        var line = JSONLine()
        line.add("", text)
        return String(decoding: line.finished().dropFirst(4).dropLast(), as: UTF8.self)
    }
}

extension NamedOrigin {
    /// The member for this origin in the object `origins`.
    fileprivate var printed: String {
        var members = [
            "\"match\": " + ServerConfiguration.list(patterns.map(\.text)),
            "\"url\": " + ServerConfiguration.quoted(FileRequest(url).urlWithoutUserinfo),
        ]
        let own = configuration(over: ServerConfiguration())
        for value in values where !value.setting.isSecret {
            // An empty table is a value too: it replaces the general one.
            guard let text = value.setting.text(own) ?? (value.setting.shape == .table ? "" : nil) else { continue }
            members.append(
                "\(ServerConfiguration.quoted(value.setting.name)): \(ServerConfiguration.printed(value.setting, text))"
            )
        }
        return "\(ServerConfiguration.quoted(name)): " + ServerConfiguration.object(members, indent: "    ")
    }
}
