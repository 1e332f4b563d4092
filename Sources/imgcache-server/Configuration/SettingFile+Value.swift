extension SettingFile {
    /// A value in the file.
    enum Value: Decodable {
        case text(String), list([String]), object([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .text(String(flag))
            } else if let number = try? container.decode(Int64.self) {
                self = .text(String(number))
            } else if let number = try? container.decode(Double.self) {
                self = .text(String(number))
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let members = try? container.decode([String: Value].self) {
                self = .object(members)
            } else {
                self = .list(
                    try container.decode([Value].self).map { member in
                        guard case .text(let text) = member else {
                            throw DecodingError.typeMismatch(
                                String.self,
                                .init(codingPath: container.codingPath, debugDescription: "a list in a list"))
                        }
                        return text
                    })
            }
        }

        /// The members of an object, or nil for any other value.
        var members: [String: Value]? { if case .object(let members) = self { members } else { nil } }

        /// The text, or the texts of a list.
        var texts: [String] {
            switch self {
            case .text(let text): [text]
            case .list(let texts): texts
            case .object: []
            }
        }

        /// The text of a setting's value.
        func text(of setting: Setting) throws(SettingError) -> String {
            func settingError(_ value: String?, _ problem: String) -> SettingError {
                SettingError(setting: setting.name, value: value, problem: problem)
            }
            switch self {
            case .text(let text): return text
            case .list(let members):
                let text = members.joined(separator: ",")
                guard setting.shape == .list else {
                    throw settingError(setting.shown(text), "must be a single value, not a list")
                }
                return text
            case .object(let members):
                guard setting.shape == .table else {
                    throw settingError(nil, "must be a single value or a list, not an object")
                }
                var table: [String: String] = [:]
                for (name, value) in members {
                    guard case .text(let text) = value else {
                        throw settingError(name, "must have a text, a number, true or false")
                    }
                    guard !name.contains(where: { ":;".contains($0) }) else {
                        throw settingError(name, "must be a name without a colon and a semicolon")
                    }
                    table[name] = text
                }
                // An empty table is also a value.
                return SettingText.text(of: table) ?? ""
            }
        }
    }
}
