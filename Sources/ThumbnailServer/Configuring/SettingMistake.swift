/// A setting that cannot be used: where it stands, its name and its value.
public struct SettingMistake: Error, CustomStringConvertible, Sendable, Hashable {
    /// Where it was found: a file's path, an environment variable, an option; nil: nowhere yet.
    public var source: String?
    public var setting: String
    /// Nil when there is none, or when it is a secret.
    public var value: String?
    public var problem: String
    /// Whether it need not be the setting's fault: an address that is taken now, a disk that is full.
    public var mayPass: Bool

    init(setting: String, value: String?, problem: String, source: String? = nil, mayPass: Bool = false) {
        self.setting = setting
        self.value = value
        self.problem = problem
        self.mayPass = mayPass
        self.source = source
    }

    public var description: String {
        let place = source.map { "\($0): " } ?? ""
        return "\(place)\(setting)\(value.map { " \"\($0)\"" } ?? ""): \(problem)"
    }
}
