import HTTPCaching

/// A member of the setting `ttl-rules`: the responses that it is for, and their lifetimes.
struct LifetimeRuleSetting: Sendable {
    let pattern: ResponsePattern
    let rule: LifetimeRules.Rule
    /// The lifetimes as they were written.
    let text: String

    static func read(_ name: String, _ text: String) -> Result<LifetimeRuleSetting, Setting.TableProblem> {
        func failure(_ problem: String) -> Result<LifetimeRuleSetting, Setting.TableProblem> {
            .failure(Setting.TableProblem(text: problem))
        }
        guard let pattern = ResponsePattern(name) else {
            return failure("must be a status such as 404 or 5xx, a path such as /news/*, or both: 404 /news/*")
        }
        var rule = LifetimeRules.Rule()
        for member in SettingText.list(text) {
            if member == "override-private" {
                rule.overridesPrivate = true
                continue
            }
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let setting = LifetimeSetting(rawValue: String(parts[0])) else {
                let names = LifetimeSetting.allCases.map(\.rawValue).joined(separator: ", ")
                return failure("must consist of \(names) with a duration, and override-private")
            }
            guard parts.count == 2, let time = SettingText.duration(String(parts[1])) else {
                return failure("\(setting.rawValue) must be a duration, such as 30s or 5m")
            }
            rule.times[setting] = .some(time == .zero ? nil : time)
        }
        guard !rule.times.isEmpty || rule.overridesPrivate else { return failure("has no lifetime") }
        return .success(LifetimeRuleSetting(pattern: pattern, rule: rule, text: text))
    }
}
