import ArgumentParser
import Glibc
import Transfer

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show the settings of the configuration file and the environment.",
        discussion: """
            The file is $XDG_CONFIG_HOME/imgcache/config.json, otherwise ~/.config/imgcache/config.json: a JSON object with long names of \
            options, such as {"capacity": "50GiB", "netrc": true}; comments are allowed. Options on the command line and environment \
            variables take precedence. The settings are: \(Settings.names.map(\.option).joined(separator: ", ")).
            """)

    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        struct Setting: Encodable {
            var value: String
            /// The file, or an environment variable.
            var from: String
        }

        /// Absent without a home directory.
        var file: String?
        var exists: Bool
        var settings: [String: Setting]
    }

    /// A setting's value without passwords.
    private func shown(_ value: String, of option: String) -> String {
        // A proxy may be named without a scheme.
        if option == "proxy", !value.contains("://"), let at = value.lastIndex(of: "@") {
            return String(value[value.index(after: at)...])
        }
        guard option == "cert" else { return CommandSecrets.withoutUserinfo(value) }
        let certificate = RequestOptions.certificate(value)
        return certificate.path + (certificate.passphrase == nil ? "" : ":…")
    }

    func run() throws {
        let settings = try Settings.load()
        var report = Report(file: Settings.path, exists: settings != nil, settings: [:])
        for name in Settings.names {
            if let variable = name.variable, name.isOverridden, let text = getenv(variable) {
                report.settings[name.option] = .init(value: String(cString: text), from: "$" + variable)
            } else if let settings, let value = settings.values[name.option] {
                report.settings[name.option] = .init(value: shown(value, of: name.option), from: settings.path)
            }
        }
        if format.json { return try Output.json(report) }
        var table = Table()
        table.add("file", (report.file ?? "none, because HOME is not set") + (report.exists ? "" : " (does not exist)"))
        for name in Settings.names {
            guard let setting = report.settings[name.option] else { continue }
            table.add(name.option, setting.value + (setting.from == report.file ? "" : "  (\(setting.from))"))
        }
        table.print()
    }
}
