import DownloadLists

/// The list of what a run did not bring, in the form that `-i` takes.
enum FailedList {
    /// - Parameter errors: What went wrong, by the places of the inputs; an input without a result was not begun.
    static func text(_ inputs: [FetchInput], done: Set<Int>, errors: [Int: String]) -> String {
        var text = ""
        for (place, input) in inputs.enumerated() where !done.contains(place) {
            let reason = errors[place] ?? "not begun"
            switch input {
            case .download(let download): text += LineList.lines(for: download, comment: reason)
            case .invalid: text += "# \(reason.split(whereSeparator: \.isNewline).joined(separator: " "))\n"
            }
        }
        return text
    }
}
