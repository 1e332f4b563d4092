import DownloadLists
import HTTPSemantics

/// The list of a run's failed downloads, in the format of `-i`. It contains no passwords, because lists are shared and kept.
enum FailedList {
    /// - Parameter errors: The errors, by the index of the input. An input without a result was not started.
    static func text(_ inputs: [FetchInput], done: Set<Int>, errors: [Int: String]) -> String {
        var text = ""
        for (place, input) in inputs.enumerated() where !done.contains(place) {
            let reason = errors[place] ?? "not begun"
            switch input {
            case .download(var download):
                let secrets = download.removeSecrets()
                if !secrets.isEmpty {
                    text +=
                        "# without \(secrets.joined(separator: ", ")): pass them again, for instance with -u or -H\n"
                }
                text += LineList.lines(for: download, comment: reason)
            case .invalid: text += "# \(reason.split(whereSeparator: \.isNewline).joined(separator: " "))\n"
            }
        }
        return text
    }
}

extension ListedDownload {
    /// Removes users and passwords from URLs, and fields that contain secrets.
    ///
    /// - Returns: A description of the removed parts.
    fileprivate mutating func removeSecrets() -> [String] {
        var removed: [String] = []
        for index in sources.indices {
            let (url, userinfo) = URLText.separatingUserinfo(sources[index].url)
            guard userinfo != nil else { continue }
            sources[index].url = url
            if removed.isEmpty { removed.append("user and password") }
        }
        removed += fields.map(\.name).filter(SecretNames.isField)
        fields.removeAll { SecretNames.isField($0.name) }
        return removed
    }
}
