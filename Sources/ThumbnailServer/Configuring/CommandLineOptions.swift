/// The command line: an option for each setting, and what to do.
struct CommandLineOptions {
    enum Action {
        case serve, printConfiguration, help, version
    }

    var action = Action.serve
    /// The configuration file.
    var file: String?
    /// Values by the settings' names.
    var options: [String: String] = [:]

    init(_ arguments: [String]) throws(SettingMistake) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "-h", "--help": action = .help
            case "--version": action = .version
            case "--print-config": action = .printConfiguration
            default:
                let (name, attached) = try Self.split(argument)
                try take(name, attached, &rest)
            }
            if action == .help || action == .version { return }
        }
    }

    /// An option's name without its dashes, and what follows an equals sign.
    private static func split(_ argument: String) throws(SettingMistake) -> (name: String, value: String?) {
        guard argument.hasPrefix("--") else {
            throw SettingMistake(setting: argument, value: nil, problem: "is no option; --help lists them")
        }
        let text = argument.dropFirst(2)
        guard let equals = text.firstIndex(of: "=") else { return (String(text), nil) }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    private mutating func take(
        _ name: String, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(SettingMistake) {
        if attached == nil, name.hasPrefix("no-"), let setting = Setting.named(String(name.dropFirst(3))),
            setting.shape == .flag
        {
            options[setting.name] = "false"
            return
        }
        let setting = Setting.named(name)
        guard setting != nil || name == "config" else {
            throw SettingMistake(
                setting: "--\(name)", value: nil, problem: "is no option" + SettingFile.suggestion(for: name))
        }
        if let setting, setting.shape == .flag {
            options[name] = attached ?? "true"
            return
        }
        guard let value = attached ?? rest.popFirst() else {
            throw SettingMistake(setting: "--\(name)", value: nil, problem: "needs a value")
        }
        guard let setting else {
            file = value
            return
        }
        // A list may be given bit by bit.
        options[name] = setting.shape == .list ? options[name].map { "\($0),\(value)" } ?? value : value
    }
}
