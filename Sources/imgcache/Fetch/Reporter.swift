import Glibc
import ImageCache
import Locking

/// Prints results in the order of the URLs, whatever order they end in, and decides the exit code.
final class Reporter: Sendable {
    private struct State {
        var waiting: [Int: FetchResult] = [:]
        var next = 0
        var firstFailure: ExitStatus?
        var kept: [FetchResult] = []
    }

    private let options: FetchCommand
    private let display: ProgressDisplay?
    private let state = Locked(State())

    init(options: FetchCommand, display: ProgressDisplay?) {
        self.options = options
        self.display = display
    }

    func add(_ result: FetchResult, at index: Int) {
        state.withLock { state in
            state.waiting[index] = result
            while let ready = state.waiting.removeValue(forKey: state.next) {
                state.next += 1
                print(ready, &state)
            }
        }
    }

    private func print(_ result: FetchResult, _ state: inout State) {
        if result.exitStatus == .interrupted {
            state.kept.append(result)
        } else if result.exitStatus != .done, state.firstFailure == nil {
            state.firstFailure = result.exitStatus
        }
        let write = { [options] in
            if options.messages.json {
                try? Output.json(result)
            } else if result.exitStatus == .done, let output = result.output {
                Output.line(output)
            }
            if let error = result.error, result.exitStatus != .interrupted { Output.error(error.forTerminal) }
        }
        if let display { display.printing(write) } else { write() }
    }

    /// The last words and the exit code.
    func finish(interrupted: Bool, requested: Int) -> ExitStatus {
        let (firstFailure, kept, done) = state.withLock { ($0.firstFailure, $0.kept, $0.next) }
        guard interrupted || !kept.isEmpty else { return firstFailure ?? .done }
        let bytes = kept.reduce(0) { $0 + $1.kept }
        let total = kept.count == 1 ? kept.first?.total : nil
        let amount = total.map { "\(ByteSize(bytes)) of \(ByteSize($0))" } ?? "\(ByteSize(bytes))"
        let rest = requested > done ? "; \(requested - done) not begun" : ""
        Output.error("interrupted: \(amount) kept\(rest); run the same command again to continue")
        return .interrupted
    }

    /// A failure before the first URL was tried.
    static func report(failure: any Error, options: FetchCommand) -> ExitStatus {
        Output.error("\(failure)".forTerminal)
        return ExitStatus(failure)
    }
}
