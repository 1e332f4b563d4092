import DownloadLists

/// An input of a run: a download, or an invalid line of a list.
enum FetchInput: Sendable {
    indirect case download(ListedDownload)
    case invalid(ListError)

    /// The name shown for the input: its URL, or its position in the list if it is invalid.
    var name: String {
        switch self {
        case .download(let download): download.url
        case .invalid(let error): "\(error.position)"
        }
    }
}

extension ListedDownload {
    /// The first URL, by which the download is known.
    var url: String { sources.first?.url ?? "" }
}
