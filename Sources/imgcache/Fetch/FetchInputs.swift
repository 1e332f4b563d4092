import ConcurrencyPrimitives
import DownloadLists

/// Reads the inputs of a run: the URLs of the command line, then the list of `-i`.
enum FetchInputs {
    /// Reads the inputs. A list in a file is read completely, and nothing is fetched if it is invalid. Standard input is read during the
    /// run.
    static func queue(_ options: FetchCommand) throws -> WorkQueue<FetchInput> {
        let quiet = options.fetching.messages.quiet
        let named = options.urls.map { url in
            var download = ListedDownload(url)
            download.sources += options.dataSet.mirrors.enumerated().map { .init($1, priority: $0 + 2) }
            if !options.dataSet.mirrors.isEmpty { download.sources[0].priority = 1 }
            return FetchInput.download(download)
        }
        guard let list = options.batch.inputFile else { return WorkQueue(named) }
        guard list == "-" else {
            let bytes = try InputList.bytes(of: list)
            let downloads: [ListedDownload]
            do throws(ListError) {
                downloads = try DownloadList.downloads(
                    in: bytes, file: list, base: options.dataSet.baseURL,
                    ignored: { if !quiet { Output.warning("\(list): the option \($0)= is passed over") } })
            } catch {
                throw Failure(.usage, "\(error); nothing was fetched")
            }
            return WorkQueue(named + downloads.map(FetchInput.download))
        }
        let queue = WorkQueue(named, isComplete: false)
        let reader = StandardInputReader(queue, base: options.dataSet.baseURL)
        do { try reader.start() } catch { throw Failure(.store, "cannot start a thread: \(errorText(error.code))") }
        return queue
    }
}
