import Locking

/// What became of one URL or file of a run.
protocol RunResult: Encodable, Sendable {
    var exitStatus: ExitStatus { get set }
    /// The line for it when it is done.
    var output: String? { get }
    /// What went wrong, in one sentence.
    var error: String? { get set }
    /// Wall time.
    var seconds: Double { get set }
}

extension RunResult {
    mutating func fail(_ error: any Error) {
        exitStatus = ExitStatus(error)
        self.error = "\(error)"
    }

    /// Runs `work` on this result, and notes how long it took.
    mutating func timed(_ work: (inout Self) async -> Void) async {
        let clock = ContinuousClock()
        let start = clock.now
        await work(&self)
        seconds = (clock.now - start).inSeconds
    }
}

/// Prints results in the order of what was asked for, whatever order they end in, and decides the exit code.
final class Reporter<Result: RunResult>: Sendable {
    private struct State {
        var waiting: [Int: Result] = [:]
        var next = 0
        var firstFailure: ExitStatus?
        var interrupted: [Result] = []
    }

    private let json: Bool
    private let display: ProgressDisplay?
    private let state = Locked(State())

    init(json: Bool, display: ProgressDisplay? = nil) {
        self.json = json
        self.display = display
    }

    /// Works on all sources, `width` at a time; after an interruption none is begun any more.
    ///
    /// - Parameter work: gets a source and its place.
    /// - Returns: the exit code.
    func run(
        _ sources: [String], width: Int, _ interruption: Interruption,
        _ work: @escaping @Sendable (String, Int) async -> Result
    ) async -> ExitStatus {
        await withTaskGroup(of: Void.self) { group in
            var next = 0
            func startNext() {
                guard next < sources.count, !interruption.happened else { return }
                let index = next
                next += 1
                group.addTask { self.add(await work(sources[index], index), at: index) }
            }
            for _ in 0..<width { startNext() }
            while await group.next() != nil { startNext() }
        }
        return state.withLock { state in
            interruption.happened || !state.interrupted.isEmpty ? .interrupted : state.firstFailure ?? .done
        }
    }

    /// Those that an interruption stopped, and how many were reported in all.
    var ending: (interrupted: [Result], reported: Int) { state.withLock { ($0.interrupted, $0.next) } }

    private func add(_ result: Result, at index: Int) {
        state.withLock { state in
            state.waiting[index] = result
            while let ready = state.waiting.removeValue(forKey: state.next) {
                state.next += 1
                print(ready, &state)
            }
        }
    }

    private func print(_ result: Result, _ state: inout State) {
        if result.exitStatus == .interrupted {
            state.interrupted.append(result)
        } else if result.exitStatus != .done, state.firstFailure == nil {
            state.firstFailure = result.exitStatus
        }
        let write = { [json] in
            if json {
                try? Output.json(result)
            } else if result.exitStatus == .done, let output = result.output {
                Output.line(output)
            }
            let isSilent = result.exitStatus == .interrupted || result.exitStatus == .brokenPipe
            if let error = result.error, !isSilent { Output.error(error.forTerminal) }
        }
        if let display { display.printing(write) } else { write() }
    }
}
