import ConcurrencyPrimitives
import Units

/// The result of one URL or file of a run.
protocol RunResult: Encodable, Sendable {
    var exitStatus: ExitStatus { get set }
    /// The line to print on success.
    var output: String? { get }
    /// The error, in one sentence.
    var error: String? { get set }
    /// The kind of the error: see ``ErrorKind``.
    var kind: String? { get set }
    /// The elapsed time in seconds.
    var seconds: Double { get set }
}

extension RunResult {
    mutating func fail(_ error: any Error) {
        exitStatus = ExitStatus(error)
        self.error = "\(error)"
        kind = ErrorKind.word(for: error)
    }

    /// Runs `work` on this result, and records its duration.
    mutating func timed(_ work: (inout Self) async -> Void) async {
        let clock = ContinuousClock()
        let start = clock.now
        await work(&self)
        seconds = (clock.now - start).inSeconds
    }
}

/// Prints results and determines the exit code. Lines are printed in the order of the arguments, JSON in the order of completion unless
/// `--ordered` is given.
final class Reporter<Result: RunResult>: Sendable {
    private struct State {
        var waiting: [Int: Result] = [:]
        var next = 0
        var reported = 0
        /// The first failure in the order of the arguments.
        var firstFailure: (place: Int, status: ExitStatus)?
        var interrupted: [Result] = []
        /// The number of failures for lack of space; only the first one is printed.
        var outOfSpaceFailures = 0
    }

    private let json: Bool
    private let isOrdered: Bool
    private let printsLines: Bool
    private let display: ProgressDisplay?
    private let state = Locked(State())

    /// - Parameter printsLines: True to print a line for each source, empty for a failed one; false if standard output
    ///   receives the file.
    init(_ options: ResultOptions, printsLines: Bool = true, display: ProgressDisplay? = nil) {
        json = options.json
        isOrdered = !options.json || options.ordered
        self.printsLines = printsLines
        self.display = display
    }

    /// Processes all sources, `width` at a time. After an interruption, no further sources are started.
    ///
    /// - Parameters:
    ///   - executor: The threads on which the work runs, or `nil` for the cooperative pool.
    ///   - work: Gets a source and its index. Returns `nil` if the source was postponed, so that there is no result yet.
    ///   - rest: The results of postponed sources that were not processed again, and their indices.
    /// - Returns: The exit code.
    func run<Source: Sendable>(
        _ sources: WorkQueue<Source>, width: Int, on executor: BlockingExecutor? = nil, _ interruption: Interruption,
        _ work: @escaping @Sendable (Source, Int) async -> Result?, rest: () -> [(Result, Int)] = { [] }
    ) async -> ExitStatus {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<width {
                group.addTask(executorPreference: executor) {
                    while !interruption.isSignalled, let (source, place) = await sources.next() {
                        if let result = await work(source, place) { self.add(result, at: place) }
                    }
                }
            }
        }
        for (result, place) in rest() { add(result, at: place) }
        return state.withLock { state in
            if state.outOfSpaceFailures > 1 {
                Output.error("\(state.outOfSpaceFailures - 1) more failed for the same reason")
            }
            let isInterrupted = interruption.isSignalled || !state.interrupted.isEmpty
            return isInterrupted ? .interrupted : state.firstFailure?.status ?? .done
        }
    }

    /// The interrupted results, and the total number of reported ones.
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
            if let message { Output.error(message) }
        }
        if let display { display.printing(write) } else { write() }
    }

    /// The message for a failure on standard error.
    private func message(for result: Result, _ state: inout State) -> String? {
        guard result.exitStatus != .interrupted, result.exitStatus != .brokenPipe else { return nil }
        guard ErrorKind.outOfSpace.contains(result.kind ?? "") else { return result.error }
        state.outOfSpaceFailures += 1
        return state.outOfSpaceFailures == 1 ? result.error : nil
    }
}
