import HTTPServer

/// Finds the value for a request's host and path. The most specific pattern wins: first by host (a name with a port, a name, a suffix, any
/// host), then by the length of its path.
package struct OriginTable<Value: Sendable>: Sendable {
    /// The patterns of one host, longest path first.
    private typealias Entries = [(prefix: PathPrefix, value: Value)]

    private struct ExactHost: Hashable {
        var host: HostField.Host
        var port: UInt16?
    }

    private struct HostSuffix {
        var name: String
        var port: UInt16?
        var entries: Entries

        func matches(_ field: HostField) -> Bool {
            guard case .name(let host) = field.host, port == nil || port == field.port ?? 80 else { return false }
            return host.utf8.count > name.utf8.count && host.hasSuffix(name)
        }
    }

    private var exact: [ExactHost: Entries] = [:]
    /// The longest suffix first; with a port before without.
    private var suffixes: [HostSuffix] = []
    private var anyHost: Entries = []

    /// - Parameter members: The patterns, each once.
    package init(_ members: [(pattern: OriginPattern, value: Value)]) {
        for (pattern, value) in members.sorted(by: {
            $0.pattern.prefix.text.utf8.count > $1.pattern.prefix.text.utf8.count
        }) {
            let entry = (pattern.prefix, value)
            switch pattern.host {
            case .any: anyHost.append(entry)
            case .exact(let host): exact[ExactHost(host: host, port: pattern.port), default: []].append(entry)
            case .below(let name):
                if let index = suffixes.firstIndex(where: { $0.name == name && $0.port == pattern.port }) {
                    suffixes[index].entries.append(entry)
                } else {
                    suffixes.append(HostSuffix(name: name, port: pattern.port, entries: [entry]))
                }
            }
        }
        suffixes.sort { ($0.name.utf8.count, $0.port == nil ? 0 : 1) > ($1.name.utf8.count, $1.port == nil ? 0 : 1) }
    }

    /// - Parameters:
    ///   - authority: `Host`, or the authority of the target; nil if there is neither.
    ///   - target: A path that begins with a slash, with or without a query.
    /// - Returns: The value, or nil if no pattern matches.
    package func value(authority: String?, target: String) -> Value? {
        if exact.isEmpty, suffixes.isEmpty, anyHost.count == 1, anyHost[0].prefix == .root { return anyHost[0].value }
        guard let path = PathPrefix.normalized(String(target.prefix { $0 != "?" })) else { return nil }
        if !exact.isEmpty || !suffixes.isEmpty, let field = authority.flatMap({ HostField($0.utf8) }) {
            let named = [
                exact[ExactHost(host: field.host, port: field.port ?? 80)],
                exact[ExactHost(host: field.host, port: nil)],
            ]
            for entries in named {
                if let value = entries.flatMap({ Self.value(path, in: $0) }) { return value }
            }
            for suffix in suffixes where suffix.matches(field) {
                if let value = Self.value(path, in: suffix.entries) { return value }
            }
        }
        return Self.value(path, in: anyHost)
    }

    /// True if a pattern matches the host of an authority, regardless of its path.
    func names(_ authority: HostField) -> Bool {
        exact[ExactHost(host: authority.host, port: authority.port ?? 80)] != nil
            || exact[ExactHost(host: authority.host, port: nil)] != nil || suffixes.contains { $0.matches(authority) }
    }

    private static func value(_ path: String, in entries: Entries) -> Value? {
        entries.first { $0.prefix.contains(path) }?.value
    }
}
