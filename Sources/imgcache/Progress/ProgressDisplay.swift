import ConcurrencyPrimitives
@preconcurrency import Glibc
import ImageCache
import Units

/// The progress lines on a terminal's standard error: one for each file in transfer, and a total if there are several.
///
/// Displayed after 200 ms, so that fast downloads leave no output.
final class ProgressDisplay: Sendable {
    fileprivate struct Row {
        var line: ProgressLine
        var rate = RateMeter()
    }

    private struct State {
        var rows: [Int: Row] = [:]
        var order: [Int] = []
        var finishedFiles = 0
        var finishedBytes: Int64 = 0
        var drawnLines = 0
        var ticker: Task<Void, Never>?
        var overall = RateMeter()
    }

    private let fileCount: Int
    private let isColoured: Bool
    private let state = Locked(State())
    private static let drawEvery = Duration.milliseconds(100)

    init(fileCount: Int) {
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
            if state.ticker == nil {
                state.ticker = Task { [weak self] in
                    try? await Task.sleep(for: .milliseconds(200))
                    while !Task.isCancelled {
                        self?.draw()
                        try? await Task.sleep(for: Self.drawEvery)
                    }
                }
            }
        }
    }

    func finish(_ id: Int) {
        state.withLock { state in
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
            var lines = state.order.compactMap { state.rows[$0]?.line.text(width: width - 1) }
            if fileCount > 1 { lines.append(Self.totalLine(&state, of: fileCount, width: width - 1, at: now)) }
            var text = state.drawnLines > 0 ? "\r\u{1B}[\(state.drawnLines)A" : ""
            for (index, line) in lines.enumerated() {
                let isTotal = fileCount > 1 && index == lines.count - 1
                text += isTotal && isColoured ? "\u{1B}[1m\(line)\u{1B}[0m\u{1B}[K\n" : "\(line)\u{1B}[K\n"
            }
            text += "\u{1B}[J"
            state.drawnLines = lines.count
            Output.write(text, to: STDERR_FILENO)
        }
    }

    private static func totalLine(_ state: inout State, of count: Int, width: Int, at now: Double) -> String {
        var total = ProgressLine(name: "total \(state.finishedFiles) of \(count)")
        total.received = state.finishedBytes + state.rows.values.reduce(0) { $0 + $1.line.received }
        state.overall.record(bytes: total.received, at: now)
        total.bytesPerSecond = state.overall.bytesPerSecond
        return total.text(width: width)
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

extension Duration {
    var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
