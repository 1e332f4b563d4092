import HTTPSemantics
import Units

/// The text form of settings' values.
enum SettingText {
    /// Parses `4096`, `64k`, `500MB`, `2GiB`. A space is an error.
    static func bytes(_ text: String) -> Int64? { text.contains(" ") ? nil : ByteSize(text: text)?.bytes }

    /// Parses `30` (seconds), `250ms`, `30s`, `5m`, `1h`.
    static func duration(_ text: String) -> Duration? { TimeSpan(text: text)?.roundedDuration }

    /// A duration in the form that ``duration(_:)`` parses.
    static func text(of duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        let whole = Int64(milliseconds.rounded())
        return whole % 1000 == 0 ? "\(whole / 1000)s" : "\(whole)ms"
    }

    static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    /// The members of a comma-separated list.
    static func list(_ text: String) -> [String] { ListedTokens(text).map(String.init) }

    /// The members of `name: value; name: value`. The value is nil if there is no colon. `\;` is a semicolon of a value.
    static func table(_ text: String) -> [(name: String, value: String?)] {
        var members = [""]
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        for (place, part) in parts.enumerated() {
            if part.hasSuffix("\\"), place < parts.count - 1 {
                members[members.count - 1] += part.dropLast() + ";"
            } else {
                members[members.count - 1] += part
                members.append("")
            }
        }
        return members.compactMap { member in
            let parts = member.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
            if parts == [""] { return nil }
            return (parts[0], parts.count > 1 ? parts[1] : nil)
        }
    }

    /// A table in the form that ``table(_:)`` parses, or nil if it is empty.
    static func text(of table: [String: String]) -> String? {
        guard !table.isEmpty else { return nil }
        // The space keeps a backslash at a value's end apart from the semicolon that follows.
        return table.sorted { $0.key < $1.key }
            .map { "\($0.key): \($0.value.replacing(";", with: "\\;"))" + ($0.value.hasSuffix("\\") ? " " : "") }
            .joined(separator: "; ")
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
