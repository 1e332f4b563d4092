import ImageCache
import Units

/// The progress of all files of a run over time. A pure value: times are arguments, in seconds of any monotonic clock.
struct RunProgress: Sendable {
    /// The number of files so far, and true if it is final.
    typealias FileCount = (count: Int, isComplete: Bool)

    /// The maximum number of running files with a line each.
    private static let mostLines = 8

    private var files: [Int: FileProgress] = [:]
    private var order: [Int] = []
    private var finishedFiles = 0
    // An origin or a list may claim any sizes, whose sum has more than 64 bits.
    private var finishedBytes: Int128 = 0
    /// The number of bytes received from the network.
    private var transferred: Int64 = 0
    private var rate = RateMeter()
    private var rateNoted = -Double.infinity
    private var lastByte = -Double.infinity
    /// The known lengths of files.
    private var sizes: [Int: Int64] = [:]
    private var totalSize: Int128 = 0
    private let isSeveral: Bool

    init(isSeveral: Bool) { self.isSeveral = isSeveral }

    // MARK: Events

    /// Starts a download. Its progress counts until ``finish(_:size:)`` or ``postpone(_:)``, and is ignored afterwards.
    mutating func begin(_ id: Int, name: String, at now: Double) {
        if files.updateValue(FileProgress(name: name, at: now), forKey: id) == nil { order.append(id) }
        if lastByte < 0 { lastByte = now }
    }

    /// - Returns: A line about a failed attempt that will be retried.
    mutating func update(_ id: Int, _ progress: DownloadProgress, at now: Double) -> String? {
        guard var file = files[id] else { return nil }
        let phase = file.latest.phase
        let bytes = file.apply(progress, at: now)
        files[id] = file
        if bytes > 0 {
            transferred += bytes
            lastByte = now
        }
        noteRate(at: now)
        if let total = progress.total { note(total, of: id) }
        guard progress.phase != phase, case .retrying(let delay, let reason) = progress.phase else { return nil }
        let pause = ProgressLine.Pause(reason: reason, nextTry: delay.inSeconds)
        return "\(file.name.forTerminal): \(pause.text)"
    }

    /// Records the length of a file that is not yet being downloaded.
    mutating func expect(_ id: Int, size: Int64) { if sizes[id] == nil { note(size, of: id) } }

    /// Returns true if the file's length is known, or it is being downloaded.
    func knows(_ id: Int) -> Bool { sizes[id] != nil || files[id] != nil }

    /// Records that a file failed and will be retried later.
    mutating func postpone(_ id: Int) {
        files[id] = nil
        order.removeAll { $0 == id }
    }

    /// - Parameters:
    ///   - size: The file's length; `nil` if it failed.
    ///   - received: The number of bytes that were received for it from the network. Those after its last update are counted now.
    mutating func finish(_ id: Int, size: Int64?, received: Int64 = 0, at now: Double) {
        // The received bytes of a failed file belong to both sums, and no more of it is expected.
        let bytes = size ?? files[id]?.latest.received ?? 0
        note(bytes, of: id)
        finishedBytes += Int128(bytes)
        let rest = received - (files[id]?.transferred ?? received)
        if rest > 0 {
            transferred += rest
            lastByte = now
        }
        noteRate(at: now)
        postpone(id)
        finishedFiles += 1
    }

    private mutating func note(_ size: Int64, of id: Int) {
        totalSize += Int128(size) - Int128(sizes.updateValue(size, forKey: id) ?? 0)
    }

    /// Records the rate ten times a second, independently of the printed lines, which may be further apart than the window of the rate.
    private mutating func noteRate(at now: Double) {
        guard now - rateNoted >= 0.1 else { return }
        rateNoted = now
        rate.record(bytes: transferred, at: now)
    }

    // MARK: Lines

    /// The lines on a terminal: one for all files if there may be several, then one for each running file.
    ///
    /// - Parameter rows: The height of the terminal. The cursor is in the row after the lines, and a line that has scrolled out of the terminal
    ///   cannot be redrawn.
    func lines(width: Int, rows: Int, at now: Double, of count: FileCount) -> [String] {
        var lines = order.prefix(Self.mostLines).compactMap { files[$0]?.line(at: now) }
        if isSeveral { lines.insert(total(at: now, of: count), at: 0) }
        return lines.prefix(max(0, rows - 1)).map { $0.text(width: width) }
    }

    /// The line if lines cannot be redrawn; `nil` if no file is being downloaded.
    func plainLine(at now: Double, of count: FileCount) -> String? {
        let line = isSeveral ? total(at: now, of: count) : order.first.flatMap { files[$0] }?.line(at: now)
        return line?.plainText
    }

    private func total(at now: Double, of count: FileCount) -> ProgressLine {
        let figures = figures(of: count)
        return ProgressLine(
            name: "total \(finishedFiles) of \(count.count)\(count.isComplete ? "" : "+")", received: figures.received,
            total: figures.total, activity: activity(at: now))
    }

    /// The progress of all files together, as `--json-progress` prints it.
    struct Figures: Encodable, Equatable {
        var type = "progress"
        /// Bytes that are there, resumed and stored ones included.
        var received: Int64
        /// The bytes of all files; nil as long as the size of one is unknown.
        var total: Int64?
        var finished: Int
        /// The number of files so far.
        var files: Int
    }

    func figures(of count: FileCount) -> Figures {
        let isKnown = count.isComplete && sizes.count >= count.count
        return Figures(
            received: Int64(clamping: files.values.reduce(finishedBytes) { $0 + Int128($1.latest.received) }),
            total: isKnown ? Int64(clamping: totalSize) : nil, finished: finishedFiles, files: count.count)
    }

    private func activity(at now: Double) -> ProgressLine.Activity {
        let waiting = files.values.filter(\.expectsBytes)
        let since = max(lastByte, waiting.map(\.lastByte).max() ?? now)
        guard !waiting.isEmpty, now - since >= FileProgress.patience else {
            return .receiving(bytesPerSecond: rate.bytesPerSecond(at: now))
        }
        let last = waiting.compactMap(\.failure).max { $0.nextTry < $1.nextTry }
        // If no attempt is running, the earliest scheduled one.
        let isTried = waiting.contains { $0.latest.phase == .transferring }
        let next = isTried ? nil : waiting.compactMap { $0.failure?.nextTry }.min()
        return .waiting(.init(silence: now - since, reason: last?.reason, nextTry: next.map { max(0, $0 - now) }))
    }
}
