import ConcurrencyPrimitives
@preconcurrency import Glibc
import ImageCache
import Units

/// The progress on standard error. On a terminal one line for all files when there are several, and one for each that is under way below
/// it; elsewhere the line for all, every 10 seconds.
///
/// Displayed after 200 ms, so that fast downloads leave no output.
final class ProgressDisplay: Sendable {
    fileprivate struct Row {
        var line: ProgressLine
        var rate = RateMeter()
    }

    /// The number of files under way that have lines of their own.
    private static let mostLines = 8

    private struct State {
        var rows: [Int: Row] = [:]
        var order: [Int] = []
        var finishedFiles = 0
        var finishedBytes: Int64 = 0
        var drawnLines = 0
        var ticker: Task<Void, Never>?
        var overall = RateMeter()
        var rateNoted = -Double.infinity
        /// The lengths of files, as far as they are known.
        var sizes: [Int: Int64] = [:]
        var totalSize: Int64 = 0

        /// Bytes that are here.
        var received: Int64 { finishedBytes + rows.values.reduce(0) { $0 + $1.line.received } }

        /// Also between two lines, which may be further apart than the time that a rate is measured over; ten times a second.
        mutating func noteRate(at now: Double) {
            guard now - rateNoted >= 0.1 else { return }
            rateNoted = now
            overall.record(bytes: received, at: now)
        }

        mutating func note(_ size: Int64, of id: Int) {
            totalSize += size - (sizes.updateValue(size, forKey: id) ?? 0)
        }
    }

    private let isSeveral: Bool
    private let isTerminal: Bool
    private let fileCount: @Sendable () -> (count: Int, isComplete: Bool)
    private let isColoured: Bool
    private let state = Locked(State())
    private static let drawEvery = Duration.milliseconds(100)
    private static let printEvery = Duration.seconds(10)

    /// - Parameter fileCount: How many files there are so far, and whether that is all.
    init(isSeveral: Bool, isTerminal: Bool, fileCount: @escaping @Sendable () -> (count: Int, isComplete: Bool)) {
        self.isSeveral = isSeveral
        self.isTerminal = isTerminal
        self.fileCount = fileCount
        // https://no-color.org: present and not empty.
        isColoured = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
    }

    func update(_ id: Int, name: String, progress: DownloadProgress) {
        let now = Self.now
        state.withLock { state in
            if state.rows[id] == nil {
                state.rows[id] = Row(line: ProgressLine(name: name))
                state.order.append(id)
            }
            state.rows[id]?.apply(progress, name: name, at: now)
            state.noteRate(at: now)
            if state.ticker == nil {
                state.ticker = Task { [weak self, isTerminal] in
                    try? await Task.sleep(for: isTerminal ? .milliseconds(200) : Self.printEvery)
                    while !Task.isCancelled {
                        if isTerminal { self?.draw() } else { self?.print() }
                        try? await Task.sleep(for: isTerminal ? Self.drawEvery : Self.printEvery)
                    }
                }
            }
            if let total = progress.total { state.note(total, of: id) }
        }
    }

    /// The length of a file that is not under way yet.
    func expect(_ id: Int, size: Int64) {
        state.withLock { state in
            if state.sizes[id] == nil { state.note(size, of: id) }
        }
    }

    /// Returns true if the file's length is known, or its download is under way.
    func knows(_ id: Int) -> Bool { state.withLock { $0.sizes[id] != nil || $0.rows[id] != nil } }

    /// A file that failed, and is tried once more: nothing of it is under way.
    func postpone(_ id: Int) {
        state.withLock { state in
            state.rows[id] = nil
            state.order.removeAll { $0 == id }
        }
    }

    /// - Parameter size: The file's length; `nil`: it failed, and nothing of it is expected any more.
    func finish(_ id: Int, size: Int64? = nil) {
        state.withLock { state in
            state.note(size ?? 0, of: id)
            if let size {
                state.rows[id]?.line.received = size
                if state.rows[id] == nil { state.finishedBytes += size }
            }
            if let row = state.rows.removeValue(forKey: id) { state.finishedBytes += row.line.received }
            state.order.removeAll { $0 == id }
            state.finishedFiles += 1
        }
    }

    /// Prints a line of regular output without disturbing the display.
    func printing(_ body: () -> Void) {
        erase()
        body()
    }

    /// Removes the display permanently.
    func stop() {
        state.withLock { $0.ticker }?.cancel()
        erase()
    }

    private func erase() {
        state.withLock { state in
            guard state.drawnLines > 0 else { return }
            Output.write("\r\u{1B}[\(state.drawnLines)A\u{1B}[J", to: STDERR_FILENO)
            state.drawnLines = 0
        }
    }

    private func draw() {
        let width = Output.width(of: STDERR_FILENO)
        let now = Self.now
        state.withLock { state in
            guard !state.rows.isEmpty else { return }
            // Those that began first: more lines than the terminal has could not be redrawn.
            var lines = state.order.compactMap { state.rows[$0]?.line }.prefix(Self.mostLines)
                .map { $0.text(width: width - 1) }
            if isSeveral { lines.insert(totalLine(&state, at: now).text(width: width - 1), at: 0) }
            var text = state.drawnLines > 0 ? "\r\u{1B}[\(state.drawnLines)A" : ""
            for (index, line) in lines.enumerated() {
                text +=
                    isSeveral && index == 0 && isColoured
                    ? "\u{1B}[1m\(line)\u{1B}[0m\u{1B}[K\n" : "\(line)\u{1B}[K\n"
            }
            text += "\u{1B}[J"
            state.drawnLines = lines.count
            Output.write(text, to: STDERR_FILENO)
        }
    }

    /// The line for all, where nothing can be redrawn.
    private func print() {
        let now = Self.now
        let line = state.withLock { totalLine(&$0, at: now) }
        Output.error(line.plainText)
    }

    private func totalLine(_ state: inout State, at now: Double) -> ProgressLine {
        let files = fileCount()
        var total = ProgressLine(name: "total \(state.finishedFiles) of \(files.count)\(files.isComplete ? "" : "+")")
        total.received = state.received
        if files.isComplete, state.sizes.count >= files.count { total.total = state.totalSize }
        state.noteRate(at: now)
        total.bytesPerSecond = state.overall.bytesPerSecond
        return total
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

extension ProgressDisplay.Row {
    fileprivate mutating func apply(_ progress: DownloadProgress, name: String, at now: Double) {
        line.name = name
        line.received = progress.received
        line.total = progress.total
        line.resumedFrom = progress.resumedFrom
        // Bytes from an earlier run do not count for this run's rate.
        rate.record(bytes: progress.received - progress.resumedFrom, at: now)
        line.bytesPerSecond = rate.bytesPerSecond
        line.note =
            switch progress.phase {
            case .queued: "queued"
            case .waitingForOther: "waiting for another imgcache"
            case .transferring: nil
            case .retrying(let delay, let reason): "\(reason), again in \(TimeSpan(seconds: delay.inSeconds))"
            case .storing: "storing"
            }
    }
}
