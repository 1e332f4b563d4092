import ConcurrencyPrimitives

/// What became of one URL or file of a run.
protocol RunResult: Encodable, Sendable {
    var exitStatus: ExitStatus { get set }
    /// The line for it when it is done.
    var output: String? { get }
    /// What went wrong, in one sentence.
    var error: String? { get set }
    /// The word for what went wrong: see ``ErrorKind``.
    var kind: String? { get set }
    /// Wall time.
    var seconds: Double { get set }
}

extension RunResult {
    mutating func fail(_ error: any Error) {
        exitStatus = ExitStatus(error)
        self.error = "\(error)"
        kind = ErrorKind.word(for: error)
    }

    /// Runs `work` on this result, and notes how long it took.
    mutating func timed(_ work: (inout Self) async -> Void) async {
        let clock = ContinuousClock()
        let start = clock.now
        await work(&self)
        seconds = (clock.now - start).inSeconds
    }
}

/// Prints results and decides the exit code: lines in the order of what was asked for, JSON as each ends unless the order is asked for.
final class Reporter<Result: RunResult>: Sendable {
    private struct State {
        var waiting: [Int: Result] = [:]
        var next = 0
        var reported = 0
        /// The failure of the source that comes first.
        var firstFailure: (place: Int, status: ExitStatus)?
        var interrupted: [Result] = []
        /// Failures for want of room, the first of which was told: one sentence is enough.
        var withoutRoom = 0
    }

    private let json: Bool
    private let isOrdered: Bool
    private let printsLines: Bool
    private let display: ProgressDisplay?
    private let state = Locked(State())

    /// - Parameter printsLines: whether there is a line for each source, empty for one that failed; not where standard output
    ///   takes the file.
    init(_ options: ResultOptions, printsLines: Bool = true, display: ProgressDisplay? = nil) {
        json = options.json
        isOrdered = !options.json || options.ordered
        self.printsLines = printsLines
        self.display = display
    }

    /// Works on all sources, `width` at a time; after an interruption none is begun any more.
    ///
    /// - Parameter work: gets a source and its place.
    /// - Returns: the exit code.
    func run<Source: Sendable>(
        _ sources: WorkQueue<Source>, width: Int, _ interruption: Interruption,
        _ work: @escaping @Sendable (Source, Int) async -> Result
    ) async -> ExitStatus {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<width {
                group.addTask {
                    while !interruption.happened, let (source, place) = await sources.next() {
                        self.add(await work(source, place), at: place)
                    }
                }
            }
        }
        return state.withLock { state in
            if state.withoutRoom > 1 { Output.error("\(state.withoutRoom - 1) more failed for the same reason") }
            let isInterrupted = interruption.happened || !state.interrupted.isEmpty
            return isInterrupted ? .interrupted : state.firstFailure?.status ?? .done
        }
    }

    /// Those that an interruption stopped, and how many were reported in all.
    var ending: (interrupted: [Result], reported: Int) { state.withLock { ($0.interrupted, $0.reported) } }

    private func add(_ result: Result, at index: Int) {
        state.withLock { state in
            guard isOrdered else { return report(result, at: index, &state) }
            state.waiting[index] = result
            while let ready = state.waiting.removeValue(forKey: state.next) {
                report(ready, at: state.next, &state)
                state.next += 1
            }
        }
    }

    private func report(_ result: Result, at index: Int, _ state: inout State) {
        state.reported += 1
        if result.exitStatus == .interrupted {
            state.interrupted.append(result)
        } else if result.exitStatus != .done, index < state.firstFailure?.place ?? .max {
            state.firstFailure = (index, result.exitStatus)
        }
        let message = message(for: result, &state)
        let write = { [json, printsLines] in
            if json {
                try? Output.json(result)
            } else if printsLines {
                Output.line(result.exitStatus == .done ? result.output ?? "" : "")
            }
            if let message { Output.error(message.forTerminal) }
        }
        if let display { display.printing(write) } else { write() }
    }

    /// What is said of a failure on standard error.
    private func message(for result: Result, _ state: inout State) -> String? {
        guard result.exitStatus != .interrupted, result.exitStatus != .brokenPipe else { return nil }
        guard ErrorKind.ofRoom.contains(result.kind ?? "") else { return result.error }
        state.withoutRoom += 1
        return state.withoutRoom == 1 ? result.error : nil
    }
}
