/// A setting that cannot be used: where it stands, its name and its value.
struct SettingError: Error, CustomStringConvertible, Sendable, Hashable {
    /// The place where it was found: a file's path, an environment variable, an option; nil: nowhere yet.
    var source: String?
    var setting: String
    /// Nil when there is none, or when it is a secret.
    var value: String?
    var problem: String
    /// True if it need not be the setting's fault: an address that is taken now, a disk that is full.
    var isTransient: Bool

    init(setting: String, value: String?, problem: String, source: String? = nil, isTransient: Bool = false) {
        self.setting = setting
        self.value = value
        self.problem = problem
        self.isTransient = isTransient
        self.source = source
    }

    var description: String {
        let place = source.map { "\($0): " } ?? ""
        return "\(place)\(setting)\(value.map { " \"\($0)\"" } ?? ""): \(problem)"
    }
}
