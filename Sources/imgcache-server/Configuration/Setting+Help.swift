import HTTPServer
import ImageCache

extension Setting {
    /// The text that `--help` prints.
    static var help: String {
        var text = """
            OVERVIEW: A caching proxy and thumbnail service in front of one origin.

            USAGE: imgcache-server --origin URL [options]

            Each option is also read from the environment (--max-requests: IMGCACHE_MAX_REQUESTS) and from a JSON file
            ({"max-requests": 100}); the command line overrides the environment, the environment the file.


            """
        for (title, settings) in all {
            text += "\(title.uppercased()):\n"
            for setting in settings { text += setting.helpLine }
            text += "\n"
        }
        text += """
            OTHER:
              --config FILE           The configuration file (or IMGCACHE_CONFIG).
              --print-config          Print the effective settings, with secrets masked, and exit.
              --version               Print the version.
              -h, --help              Print this help.

            SIGHUP applies new values of the options marked with *; SIGTERM and SIGINT stop the server.

            """
        return text
    }

    private var helpLine: String {
        let option = "  --\(name)" + (placeholder.isEmpty ? "" : " \(placeholder)")
        let gap =
            option.count < 25
            ? String(repeating: " ", count: 26 - option.count) : "\n" + String(repeating: " ", count: 26)
        let standard = shape == .flag || isSecret ? nil : text(ServerConfiguration())
        let note = standard.flatMap { $0.isEmpty ? nil : " (default: \($0))" } ?? ""
        return option + gap + help + note + (isReloadable ? " *" : "") + "\n"
    }
}

extension Setting {
    /// A value for display, valid or not; nil if it must not be displayed.
    func shown(_ text: String) -> String? {
        if isSecret { return nil }
        return name == "origin" ? Self.maskedUserinfo(text) : text
    }

    /// A URL with its credentials replaced by `***`.
    private static func maskedUserinfo(_ url: String) -> String {
        let plain = FileRequest(url).urlWithoutUserinfo
        guard plain != url, let slashes = plain.firstRange(of: "://") else { return plain }
        return plain[..<slashes.upperBound] + "***@" + plain[slashes.upperBound...]
    }
}

extension ServerConfiguration {
    /// The settings as a configuration file, without secrets.
    var masked: String {
        var lines: [String] = []
        for (_, settings) in Setting.all {
            for setting in settings {
                guard let text = setting.text(self) else { continue }
                lines.append("  \(Self.quoted(setting.name)): \(Self.shown(setting, text))")
            }
        }
        return "{\n" + lines.joined(separator: ",\n") + "\n}"
    }

    private static func shown(_ setting: Setting, _ text: String) -> String {
        let text = setting.shown(text) ?? "***"
        return switch setting.shape {
        case .number, .flag: text
        case .list: "[" + SettingText.list(text).map(quoted).joined(separator: ", ") + "]"
        case .table:
            "{"
                + SettingText.table(text).map { "\(quoted($0.name)): \(quoted($0.value ?? ""))" }.joined(
                    separator: ", ") + "}"
        case .text: quoted(text)
        }
    }

    private static func quoted(_ text: String) -> String {
        var line = JSONLine()
        line.add("", text)
        return String(decoding: line.finished().dropFirst(4).dropLast(), as: UTF8.self)
    }
}
