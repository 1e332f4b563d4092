import HTTPTypes

extension HTTPFields {
    /// The fields of a setting, ordered by name. The names have already been checked.
    init(setting values: [String: String]) {
        self.init()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if let name = HTTPField.Name(name) { self[name] = value }
        }
    }
}
