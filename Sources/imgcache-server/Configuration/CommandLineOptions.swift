/// The command line: an option for each setting, and the action.
struct CommandLineOptions {
    enum Action: Equatable {
        case serve, check, askReadiness, printConfiguration, help
        case version(isVerbose: Bool)
    }

    var action = Action.serve
    /// The configuration file.
    var file: String?
    /// Values by the settings' names.
    var options: [String: String] = [:]

    init(_ arguments: [String]) throws(SettingError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "-h", "--help": action = .help
            case "--version":
                action = .version(isVerbose: arguments.contains("--verbose"))
                return
            case "--verbose" where rest.first == "--version": continue
            case "--check": action = .check
            case "--ready": action = .askReadiness
            case "--print-config": action = .printConfiguration
            default:
                let (name, attached) = try Self.split(argument)
                try take(name, attached, &rest)
            }
            if case .help = action { return }
        }
    }

    /// An option's name without its dashes, and the value after an equals sign.
    private static func split(_ argument: String) throws(SettingError) -> (name: String, value: String?) {
        guard argument.hasPrefix("--") else {
            throw SettingError(setting: argument, value: nil, problem: "is not an option; see --help")
        }
        let text = argument.dropFirst(2)
        guard let equals = text.firstIndex(of: "=") else { return (String(text), nil) }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    private mutating func take(
        _ name: String, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(SettingError) {
        if attached == nil, name.hasPrefix("no-"), let setting = Setting.named(String(name.dropFirst(3))),
            setting.shape == .flag
        {
            return try set(setting, "false")
        }
        let setting = Setting.named(name)
        guard setting != nil || name == "config" else {
            throw SettingError(
                setting: "--\(name)", value: nil, problem: "is no option" + SettingFile.suggestion(for: name))
        }
        if let setting, setting.shape == .flag {
            return try set(setting, attached ?? "true")
        }
        guard let value = attached ?? rest.popFirst() else {
            throw SettingError(setting: "--\(name)", value: nil, problem: "requires a value")
        }
        guard let setting else {
            guard file == nil else { throw Self.repeated("config") }
            file = value
            return
        }
        try set(setting, value)
    }

    private mutating func set(_ setting: Setting, _ value: String) throws(SettingError) {
        guard let former = options[setting.name] else {
            options[setting.name] = value
            return
        }
        // A list may be split over several options.
        switch setting.shape {
        case .list: options[setting.name] = "\(former),\(value)"
        case .table: options[setting.name] = "\(former);\(value)"
        case .text, .number, .flag: throw Self.repeated(setting.name)
        }
    }

    private static func repeated(_ name: String) -> SettingError {
        SettingError(setting: "--\(name)", value: nil, problem: "is specified more than once")
    }
}
