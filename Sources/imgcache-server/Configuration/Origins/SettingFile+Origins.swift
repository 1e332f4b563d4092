import ImageProxy

extension SettingFile {
    /// The key of the origins.
    static let originsKey = "origins"

    /// The origins of a file, ordered by name.
    static func origins(
        in values: [String: Value], _ place: (SettingFileKeys.Path) -> String
    ) throws(SettingError) -> [NamedOrigin] {
        var origins: [NamedOrigin] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let source = place([originsKey, name])
            func settingError(_ problem: String) -> SettingError {
                SettingError(setting: "\(originsKey).\(name)", value: nil, problem: problem, source: source)
            }
            guard isName(name) else {
                throw settingError("is no name: it has 1 to 64 letters, digits, hyphens, underscores and dots")
            }
            guard name != NamedOrigin.defaultName else {
                throw settingError("is the name of the origin that the setting origin describes")
            }
            guard let members = value.members else { throw settingError("must be an object with url and match") }
            origins.append(try origin(name, members, source) { place([originsKey, name, $0]) })
        }
        try checkPatterns(of: origins, place)
        return origins
    }

    private static func origin(
        _ name: String, _ members: [String: Value], _ source: String, _ place: (_ key: String) -> String
    ) throws(SettingError) -> NamedOrigin {
        func settingError(_ key: String, _ value: String?, _ problem: String, in place: String) -> SettingError {
            SettingError(setting: NamedOrigin.key(name, key), value: value, problem: problem, source: place)
        }
        guard case .text(let url)? = members["url"] else {
            throw settingError(
                "url", nil, "is missing, or is not a string", in: members["url"] == nil ? source : place("url"))
        }
        if let problem = OriginLocation.problem(url) {
            throw settingError("url", Setting.maskedUserinfo(url), problem, in: place("url"))
        }
        var patterns: [(text: String, pattern: OriginPattern)] = []
        for text in members["match"]?.texts ?? [] {
            do throws(OriginPattern.Failure) { patterns.append((text, try OriginPattern(text))) } catch {
                throw settingError("match", text, error.problem, in: place("match"))
            }
        }
        guard !patterns.isEmpty else {
            throw settingError(
                "match", nil, "is missing: a path such as /shop/, a host, or a list of them",
                in: members["match"] == nil ? source : place("match"))
        }
        var values: [NamedOrigin.Value] = []
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where key != "url" && key != "match" {
            guard let setting = Setting.named(key), setting.isPerOrigin else {
                let problem =
                    Setting.named(key) == nil
                    ? "is not a setting" + suggestion(for: key) : "is not a setting of one origin"
                throw settingError(key, nil, problem, in: place(key))
            }
            let text: String
            do throws(SettingError) { text = try value.text(of: setting) } catch {
                throw settingError(key, error.value, error.problem, in: place(key))
            }
            var scratch = ServerConfiguration()
            if let problem = setting.read(text, &scratch) {
                throw settingError(key, setting.shown(text), problem, in: place(key))
            }
            values.append(NamedOrigin.Value(setting: setting, text: text, source: place(key)))
        }
        return NamedOrigin(name: name, url: url, patterns: patterns, source: source, values: values)
    }

    /// Rejects two origins with the same pattern, which would be ambiguous.
    private static func checkPatterns(
        of origins: [NamedOrigin], _ place: (SettingFileKeys.Path) -> String
    ) throws(SettingError) {
        var owners: [OriginPattern: String] = [:]
        for origin in origins {
            for (text, pattern) in origin.patterns {
                guard let other = owners.updateValue(origin.name, forKey: pattern) else { continue }
                throw SettingError(
                    setting: NamedOrigin.key(origin.name, "match"), value: text,
                    problem: other == origin.name
                        ? "is specified more than once" : "is that of the origin \"\(other)\", too",
                    source: place([originsKey, origin.name, "match"]))
            }
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "-_.".utf8.contains(byte)
            }
    }
}
