import ConcurrencyPrimitives
import DownloadLists
import Glibc

/// Reads the list on standard input on its own thread, and passes on each download as soon as it is complete.
///
/// An option of a download is on a line after its URL. The last URL therefore waits for the next line, but at most half a second. If a
/// program writes URLs one at a time, each is thus fetched without much delay.
final class StandardInputReader: Sendable {
    private static let name = "standard input"
    private static let patience: Int32 = 500

    private let queue: WorkQueue<FetchInput>
    private let base: String?

    init(_ queue: WorkQueue<FetchInput>, base: String?) {
        self.queue = queue
        self.base = base
    }

    func start() throws(SystemThread.Failure) {
        try SystemThread { [self] in
            read()
            queue.complete()
        }.detach()
    }

    private func read() {
        var reader = DownloadListReader(file: Self.name, base: base)
        var lines = LineSplitter()
        var isFirst = true
        var count = 0
        while true {
            if !isFirst, !waits(Self.patience) { give { () throws(ListError) in try reader.finish() } }
            let chunk = chunk(ofLine: count + 1)
            if chunk.isEmpty { break }
            if isFirst, DownloadList.isMetalink(chunk) { return readMetalink(chunk) }
            isFirst = false
            lines.add(chunk) { line in
                count += 1
                give { () throws(ListError) in try reader.take(line) }
            }
        }
        if let line = lines.finish() { give { () throws(ListError) in try reader.take(line) } }
        give { () throws(ListError) in try reader.finish() }
        give { () throws(ListError) in
            try reader.checkEnd()
            return nil
        }
    }

    private func give(_ next: () throws(ListError) -> ListedDownload?) {
        do throws(ListError) {
            if let download = try next() { queue.add(.download(download)) }
        } catch {
            queue.add(.invalid(error))
        }
    }

    private func readMetalink(_ beginning: [UInt8]) {
        var document = beginning
        // A longer document is rejected, so its rest is not read.
        while document.count <= Metalink.maxSize {
            let chunk = chunk(ofLine: 1)
            if chunk.isEmpty { break }
            document += chunk
        }
        do throws(ListError) {
            for download in try Metalink.downloads(in: document, file: Self.name) { queue.add(.download(download)) }
        } catch {
            queue.add(.invalid(error))
        }
    }

    /// Returns true if input, or its end, is available within the given number of milliseconds.
    private func waits(_ milliseconds: Int32) -> Bool {
        var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, milliseconds) != 0
    }

    /// The next bytes, or none at the end. A read error is reported and ends the list.
    private func chunk(ofLine line: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
            if count < 0 && errno == EINTR { continue }
            guard count < 0 else { return Array(bytes[..<count]) }
            queue.add(.invalid(ListError(ListPosition(Self.name, line: line), "cannot be read: \(errorText(errno))")))
            return []
        }
    }
}
