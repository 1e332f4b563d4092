/// An invalid setting: its source, its name and its value.
struct SettingError: Error, CustomStringConvertible, Sendable, Hashable {
    /// The source: a file's path, an environment variable, an option; nil if unknown.
    var source: String?
    var setting: String
    /// `nil` if there is none, or if it is a secret.
    var value: String?
    var problem: String
    /// True if the cause may be temporary: an address in use, a full disk.
    var isTransient: Bool
    /// True if a newer version made the store.
    var isOfNewerStore = false

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
