import ArgumentParser
import FoundationEssentials
import Glibc
import ImageCache
import JSONParsing
import Units

/// The user's defaults for options: `$XDG_CONFIG_HOME/imgcache/config.json`, otherwise `~/.config/imgcache/config.json`.
///
/// The file is a JSON object with the long names of options; comments are allowed:
///
///     {
///       "capacity": "50GiB",   // as --capacity 50GiB
///       "proxy": "http://proxy.example:3128",
///       "netrc": true
///     }
///
/// Each applies to the commands that have the option, unless the command line contains it or an option that excludes it. An environment
/// variable for the same purpose takes precedence.
struct Settings: Equatable {
    /// A setting that the file may contain.
    struct Name {
        let option: String
        /// The environment variable that takes precedence.
        let variable: String?
        let isFlag: Bool

        init(_ option: String, variable: String? = nil, isFlag: Bool = false) {
            self.option = option
            self.variable = variable
            self.isFlag = isFlag
        }
    }

    static let names: [Name] = [
        Name("cache-dir", variable: "IMGCACHE_DIR"), Name("capacity", variable: "IMGCACHE_CAPACITY"),
        Name("link-mode", variable: LinkMode.variable), Name("parallel"), Name("segments"), Name("limit-rate"),
        Name("max-filesize"), Name("connect-timeout"), Name("max-time"), Name("speed-limit"), Name("speed-time"),
        Name("retry"), Name("retry-max-time"), Name("max-redirs"), Name("proxy"), Name("cacert"), Name("cert"),
        Name("private-key"), Name("cookies"), Name("netrc", isFlag: true), Name("user-agent"),
        Name("ipv4", isFlag: true), Name("ipv6", isFlag: true), Name("interface"), Name("remote"),
        Name("remote-private", isFlag: true), Name("remote-connect-timeout"), Name("remote-timeout"),
        Name("quiet", isFlag: true),
    ]

    let path: String
    /// The values by option, as on the command line; `true` of a flag. A flag that is false is absent.
    let values: [String: String]

    /// The path of the file, whether it exists or not; `nil` without a home directory.
    static var path: String? {
        func folder(_ variable: String) -> String? {
            // A relative path is ignored, as required by the XDG Base Directory Specification.
            getenv(variable).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let base = folder("XDG_CONFIG_HOME") ?? folder("HOME").map { $0 + "/.config" }
        return base.map { $0 + "/imgcache/config.json" }
    }

    private static let loaded = Result { () throws(Failure) -> Settings? in try read() }

    /// The settings of the file, which is read once; `nil` if there is none.
    ///
    /// - Throws: ``Failure`` with the place of the error.
    static func load() throws(Failure) -> Settings? { try loaded.get() }

    private static func read() throws(Failure) -> Settings? {
        guard let path, access(path, F_OK) == 0 else { return nil }
        guard let text = FileManager.default.contents(atPath: path) else {
            throw Failure(.usage, "\(path): cannot be read")
        }
        return try Settings(path: path, text: text)
    }

    init(path: String, text: Data) throws(Failure) {
        self.path = path
        let entries: [String: Value]
        do {
            let text = try CommentedJSON(text)
            if let repeated = text.repeatedName { throw repeated }
            entries = try JSONDecoder().decode([String: Value].self, from: Data(text.json))
        } catch let error as CommentedJSON.SyntaxError {
            throw Failure(.usage, "\(path): \(error)")
        } catch DecodingError.typeMismatch(_, let context) {
            let name = context.codingPath.first?.stringValue
            let kinds = name.map { "\"\($0)\" is a text, a number, true or false" }
            throw Failure(.usage, "\(path): \(kinds ?? "is not a JSON object")")
        } catch {
            throw Failure(.usage, "\(path): is not a JSON object of settings")
        }
        var values: [String: String] = [:]
        for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
            guard let name = Self.names.first(where: { $0.option == key }) else {
                let near = UsageAdvice.nearest(to: key, among: Self.names.map(\.option))
                throw Failure(
                    .usage, "\(path): \"\(key)\" is not a setting" + (near.map { "; did you mean \"\($0)\"?" } ?? ""))
            }
            switch (value, name.isFlag) {
            case (.flag(let isOn), true): if isOn { values[key] = "true" }
            case (.text(let text), false): values[key] = text
            case (_, true): throw Failure(.usage, "\(path): \"\(key)\" is true or false")
            case (_, false): throw Failure(.usage, "\(path): \"\(key)\" is a text or a number")
            }
        }
        self.values = values
    }

    /// False for a command line that no setting changes: one that asks for help or the version, or whose command has settings of its own.
    static func mayApply(to arguments: [String]) -> Bool {
        let (command, rest) = Main.command(in: arguments)
        return command != Main.self && command != ServeCommand.self
            && rest.prefix { $0 != "--" }.allSatisfy { !["-h", "--help", "--help-all", "--version"].contains($0) }
    }

    /// The command line with the settings that it does not contain.
    func applied(to arguments: [String]) -> [String] {
        let (command, rest) = Main.command(in: arguments)
        let options = CommandOptions(of: command)
        let given = Set(options.given(in: rest))
        let added = Self.names.filter { name in
            options.names.contains("--" + name.option) && !given.contains("--" + name.option)
                && !name.isOverridden && values[name.option] != nil
                && !isExcluded(name.option, from: command, options, given, rest)
        }
        let words = added.map { $0.isFlag ? "--\($0.option)" : "--\($0.option)=\(values[$0.option] ?? "")" }
        return arguments.dropLast(rest.count) + words + rest
    }

    /// True if a setting would contradict the command line, or change the meaning of a command.
    private func isExcluded(
        _ option: String, from command: any ParsableCommand.Type, _ options: CommandOptions, _ given: Set<String>,
        _ words: ArraySlice<String>
    ) -> Bool {
        switch option {
        // These commands would remove one user's entries instead of everything that is selected.
        case "netrc", "cert":
            command == ClearCommand.self
                || command == RemoveCommand.self && !given.isDisjoint(with: ["--prefix", "--filter"])
        case "cache-dir" where command == DoctorCommand.self: words.contains { !$0.hasPrefix("-") || $0 == "--" }
        case "cookies": words.contains { $0.lowercased().contains("cookie:") }
        case "ipv4": given.contains("--ipv6")
        case "ipv6": given.contains("--ipv4")
        case "private-key": given.contains("--cert")
        // A run that may not be that fast, or must not be that slow, is refused.
        case "limit-rate": !exceeds(values[option], options.value(of: "--speed-limit", in: words))
        case "speed-limit": !exceeds(options.value(of: "--limit-rate", in: words), values[option])
        case "remote-private", "remote-connect-timeout", "remote-timeout":
            !given.contains("--remote") && values["remote"] == nil
        default: false
        }
    }

    /// True if one size is greater than another, or if one of them is absent or none.
    private func exceeds(_ one: String?, _ other: String?) -> Bool {
        guard let one = one.flatMap(ByteSize.init(argument:)), let other = other.flatMap(ByteSize.init(argument:))
        else {
            return true
        }
        return one.bytes > other.bytes
    }

    /// The value of an option for which no environment variable is set.
    func value(of option: String) -> String? {
        Self.names.first { $0.option == option }?.isOverridden == false ? values[option] : nil
    }

    /// True if requests contain credentials or cookies, which determine the entries that answer them.
    var identifiesUser: Bool { ["netrc", "cert", "cookies"].contains { values[$0] != nil } }

    private enum Value: Decodable {
        case text(String)
        case flag(Bool)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .text("\(number)")
            } else if let number = try? container.decode(Double.self) {
                self = .text("\(number)")
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }
}

extension Settings.Name {
    /// True if an environment variable is set that takes precedence.
    var isOverridden: Bool { variable.flatMap { getenv($0) }.map { $0.pointee != 0 } ?? false }
}
