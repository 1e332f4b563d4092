import CTracing
import DiskStore
import Foundation
import Glibc

/// The scenario, once for each of its system calls.
final class Matrix: Trial {
    private var expected: [[String: UInt64]] = []

    // MARK: Killed

    func kills() throws -> Int32 {
        let calls = try survey()
        let points = options.points(of: calls.count)
        for point in points {
            try interrupt(point, "killed before call \(point), \(calls[min(point, calls.count) - 1].name)", .killed) {
                $1 == point ? .kill : .go
            }
        }
        return report("kill", points.count, of: calls.count)
    }

    // MARK: Failed

    func failures() throws -> Int32 {
        let calls = try survey()
        let all = calls.enumerated().flatMap { call in call.element.errors.map { (call.offset + 1, call.element, $0) } }
        let points = options.points(of: all.count)
        for point in points {
            let (number, call, error) = all[point - 1]
            let outcome: CallOutcome = error == 0 ? .shorten : .fail(error)
            let name = error == 0 ? "a short write" : String(cString: strerror(error))
            try interrupt(point, "call \(number), \(call.name), with \(name)", .failed) {
                // Threads may come in another order: then the same call a little later.
                $0.name == call.name && $1 >= number ? outcome : .go
            }
        }
        return report("fail", points.count, of: all.count)
    }

    // MARK: One run

    private enum CallOutcome {
        case go, kill, fail(Int32), shorten
    }

    private final class CallObserver: Observer {
        let decide: (SystemCall, Int) -> CallOutcome
        private(set) var calls: [SystemCall] = []

        init(_ decide: @escaping (SystemCall, Int) -> CallOutcome) { self.decide = decide }

        override func entry(
            _ call: ctracing_call, _ kind: SystemCall, number: Int, error: inout Int32
        ) -> ctracing_verdict {
            calls.append(kind)
            if hasActed { return CTRACING_GO }
            let outcome = decide(kind, number)
            if case .go = outcome { return CTRACING_GO }
            hasActed = true
            switch outcome {
            case .go: return CTRACING_GO
            case .kill: return CTRACING_KILL
            case .shorten: return CTRACING_SHORTEN
            case .fail(let code):
                error = code
                return CTRACING_FAIL
            }
        }
    }

    /// Runs the scenario undisturbed: what it leaves after each step, and which calls it makes.
    private func survey() throws -> [SystemCall] {
        expected = try Golden.states(page: page, directory: "\(folder)/golden")
        let watch = CallObserver { _, _ in .go }
        if let error = try scenario(in: "\(folder)/survey", watch, seed: 0) { throw Failure("undisturbed: \(error)") }
        return watch.calls
    }

    private func scenario(in directory: String, _ observer: Observer?, seed: UInt64, goesOn: Bool = false) throws
        -> String?
    {
        try? FileManager.default.removeItem(atPath: directory)
        page.clear()
        page.text = ""
        let page = page
        return try Child.run(observer, report: page) {
            let session = Session(directory: directory, page: page, clockSeed: seed)
            try Scenario.run(session) { step, error in
                guard goesOn, !(error is Failure) else { throw Failure("\(step.name): \(error)") }
            }
        }
    }

    private func interrupt(
        _ point: Int, _ name: String, _ kind: Inspection.Kind, _ outcome: @escaping (SystemCall, Int) -> CallOutcome
    ) throws {
        let directory = "\(folder)/\(point)"
        let seed = options.seed &* 1_000_003 &+ UInt64(point)
        let problem = try scenario(in: directory, CallObserver(outcome), seed: seed, goesOn: kind == .failed)
        if let problem, problem != "signal 9" || kind == .failed { return fails(point, name, problem) }
        let inspection = Inspection(
            directory: directory, page: page, expected: expected, kind: kind, clockSeed: seed &+ 1)
        let steps = page.completedSteps
        if let problem = try Child.run(report: page, { try inspection.run() }) {
            let step = Scenario.steps[min(steps, Scenario.steps.count - 1)].name
            return fails(point, "\(name), in “\(step)”", problem)
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// The result of an undisturbed scenario.
enum Golden {
    /// Versions by key, after each step.
    static func states(page: SharedPage, directory: String) throws -> [[String: UInt64]] {
        try? FileManager.default.removeItem(atPath: directory)
        page.clear()
        let problem = try Child.run(report: page) {
            let session = Session(directory: directory, page: page, clockSeed: 0)
            var lines: [String] = []
            for step in Scenario.steps {
                try step.run(session)
                var line = ""
                try session.store.list { entry in
                    line += "\(entry.key) \(try Body(key: entry.key, header: entry.metadata).version) "
                    return true
                }
                lines.append(line)
            }
            page.text = lines.joined(separator: "\n")
        }
        if let problem { throw Failure("undisturbed: \(problem)") }
        return page.text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let words = line.split(separator: " ")
            return Dictionary(
                uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map {
                    (index: Int) -> (String, UInt64) in
                    (String(words[index]), UInt64(words[index + 1]) ?? 0)
                })
        }
    }
}
