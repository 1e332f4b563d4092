import ConcurrencyPrimitives
@preconcurrency import Glibc
import ImageCache

/// The progress on standard error.
///
/// On a terminal, the lines of ``RunProgress`` are redrawn ten times a second. They appear 200 ms after the start, so that fast downloads
/// print nothing. In the background of a shell, nothing is drawn. Otherwise, one line is printed every 10 seconds, and one for each retry of
/// a single file. For a program, the figures are a line of JSON on standard output, ten times a second.
///
/// The display asks the downloads for their progress ten times a second. A task for each download that watches it would make the run of a list
/// of small files cost half as much again.
final class ProgressDisplay: Sendable {
    /// The way in which lines are printed.
    enum Style: Sendable {
        /// Redrawn in place.
        case redrawn
        /// Printed one after another.
        ///
        /// - Parameter retries: True to print also each failed attempt.
        case printed(retries: Bool)
        /// Printed as JSON on standard output, for a program.
        case reported

        fileprivate var isRedrawn: Bool { if case .redrawn = self { true } else { false } }
    }

    /// Returns the current progress of a download; `nil` after its end. It must not retain the download, which would then not be stopped.
    typealias Source = @Sendable () -> DownloadProgress?

    private struct State {
        var progress: RunProgress
        /// The downloads in progress.
        var sources: [Int: Source] = [:]
        var drawnLines = 0
        var hasDrawn = false
        var reported: RunProgress.Figures?
        var ticker: Task<Void, Never>?
    }

    private let isSeveral: Bool
    private let style: Style
    private let fileCount: @Sendable () -> RunProgress.FileCount
    private let isColoured: Bool
    private let state: Locked<State>
    private static let lookEvery = Duration.milliseconds(100)
    private static let firstDrawn = 0.2
    private static let printEvery = 10.0

    /// - Parameter fileCount: Returns the number of files so far, and true if it is final.
    init(isSeveral: Bool, _ style: Style, fileCount: @escaping @Sendable () -> RunProgress.FileCount) {
        self.isSeveral = isSeveral
        self.style = style
        self.fileCount = fileCount
        // https://no-color.org: set and not empty.
        isColoured = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        state = Locked(State(progress: RunProgress(isSeveral: isSeveral)))
    }

    /// True if a user may look at the lines during the run.
    var isWatched: Bool { style.isRedrawn }

    /// True if each failed attempt is printed. Then ``update(_:_:)`` must be called for each progress, because a pause may be short.
    var printsRetries: Bool { if case .printed(retries: true) = style { true } else { false } }

    /// Starts a download; see ``RunProgress/begin(_:name:at:)``.
    func begin(_ id: Int, name: String, _ source: @escaping Source) {
        let now = Self.now
        state.withLock { state in
            state.progress.begin(id, name: name, at: now)
            state.sources[id] = source
            guard state.ticker == nil else { return }
            let (first, interval) =
                switch style {
                case .redrawn: (Self.firstDrawn, 0.0)
                case .printed: (Self.printEvery, Self.printEvery)
                case .reported: (0.0, 0.0)
                }
            state.ticker = Task { [weak self] in
                var next = now + first
                while true {
                    try? await Task.sleep(for: Self.lookEvery)
                    guard !Task.isCancelled, let self else { return }
                    look()
                    if Self.now < next { continue }
                    next += interval
                    switch style {
                    case .redrawn: draw()
                    case .printed: print()
                    case .reported: report()
                    }
                }
            }
        }
    }

    /// Asks the downloads for their progress.
    private func look() {
        let sources = state.withLock { $0.sources }
        for (id, source) in sources {
            if let progress = source() { update(id, progress) }
        }
    }

    func update(_ id: Int, _ progress: DownloadProgress) {
        let now = Self.now
        let failure = state.withLock { $0.progress.update(id, progress, at: now) }
        if let failure, printsRetries { Output.error(failure) }
    }

    /// Records the length of a file that is not yet being downloaded.
    func expect(_ id: Int, size: Int64) { state.withLock { $0.progress.expect(id, size: size) } }

    /// Returns true if the file's length is known, or it is being downloaded.
    func knows(_ id: Int) -> Bool { state.withLock { $0.progress.knows(id) } }

    /// Records that a file failed and will be retried later.
    func postpone(_ id: Int) {
        state.withLock { state in
            state.sources[id] = nil
            state.progress.postpone(id)
        }
    }

    /// Ends a download; see ``RunProgress/finish(_:size:received:at:)``.
    func finish(_ id: Int, size: Int64?, received: Int64) {
        let now = Self.now
        state.withLock { state in
            state.sources[id] = nil
            state.progress.finish(id, size: size, received: received, at: now)
        }
    }

    /// Prints a line of regular output without disturbing the display.
    func printing(_ body: () -> Void) {
        erase()
        body()
    }

    /// True if lines were redrawn on a terminal.
    var hasDrawn: Bool { state.withLock { $0.hasDrawn } }

    /// Removes the display permanently.
    func stop() {
        state.withLock { $0.ticker }?.cancel()
        if case .reported = style { report() }
        erase()
    }

    private func erase() {
        state.withLock { state in
            guard state.drawnLines > 0 else { return }
            if !Output.isInBackground(of: STDERR_FILENO) {
                Output.write("\r\u{1B}[\(state.drawnLines)A\u{1B}[J", to: STDERR_FILENO)
            }
            state.drawnLines = 0
        }
    }

    private func draw() {
        let width = Output.width(of: STDERR_FILENO)
        let rows = Output.height(of: STDERR_FILENO)
        let now = Self.now
        let count = fileCount()
        state.withLock { state in
            // Cancelled in the meantime, so the lines have been erased.
            guard !Task.isCancelled else { return }
            guard !Output.isInBackground(of: STDERR_FILENO) else {
                // The lines above the cursor are those of the shell and of other programs.
                state.drawnLines = 0
                return
            }
            let lines = state.progress.lines(width: width - 1, rows: rows, at: now, of: count)
            guard !lines.isEmpty || state.drawnLines > 0 else { return }
            var text = state.drawnLines > 0 ? "\r\u{1B}[\(state.drawnLines)A" : ""
            for (index, line) in lines.enumerated() {
                text +=
                    isSeveral && index == 0 && isColoured
                    ? "\u{1B}[1m\(line)\u{1B}[0m\u{1B}[K\n" : "\(line)\u{1B}[K\n"
            }
            text += "\u{1B}[J"
            state.drawnLines = lines.count
            state.hasDrawn = true
            Output.write(text, to: STDERR_FILENO)
        }
    }

    /// Prints a line if lines cannot be redrawn.
    private func print() {
        let now = Self.now
        let count = fileCount()
        if let line = state.withLock({ $0.progress.plainLine(at: now, of: count) }) { Output.error(line) }
    }

    /// Prints the figures, if they have changed.
    private func report() {
        let count = fileCount()
        let changed = state.withLock { state -> RunProgress.Figures? in
            let figures = state.progress.figures(of: count)
            defer { state.reported = figures }
            return figures == state.reported ? nil : figures
        }
        // Without the lock: the reader of standard output may be slow.
        if let changed { try? Output.json(changed) }
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
